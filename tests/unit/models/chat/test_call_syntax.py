"""The syntaxes of all families: calls that are read in pieces, cut at any place, written, and forced by a grammar."""

import json
import re
import time
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from models.chat.call_syntax.nested_reader import MARK
from models.chat.call_syntax.registry import NAMES, syntax_named
from models.chat.tool_calls import AnswerEvent, Parsed, TextPiece, ToolCall, merged, parsed_of
from models.chat.tool_format import ToolFormat, make_parser
from tests.sizes import Size

WEATHER = ToolCall("get_weather", '{"city": "Paris", "days": 2}')
ROME = ToolCall("get_weather", '{"city": "Rome", "days": 2}')
DEEP = ToolCall("add-item", '{"to": [1, {"é": "\\"x\\" and }"}], "on": true, "at": null}')
FIELDS = frozenset(["get_weather.days", "add-item.to", "add-item.on", "add-item.at"])
SPOKEN = {"llama3": "", "llama4": "", "pythonic": ""}
"""The text before calls, where a syntax allows none."""

ARGS = '{"city": "Paris", "days": 2}'
ROMAN = ARGS.replace("Paris", "Rome")


def dsml(block: str) -> str:
    """Return two calls of DeepSeek V3.2 or V4. block: name of the element around them."""
    calls = "".join(
        '<｜DSML｜invoke name="get_weather">\n'
        f'<｜DSML｜parameter name="city" string="true">{city}</｜DSML｜parameter>\n'
        '<｜DSML｜parameter name="days" string="false">2</｜DSML｜parameter>\n</｜DSML｜invoke>\n'
        for city in ("Paris", "Rome")
    )
    return f"\n\n<｜DSML｜{block}>\n{calls}</｜DSML｜{block}>"


def m3(text: str) -> str:
    """Return a text with MiniMax M3's mark at its beginning, and in place of each @."""
    return MARK + text.replace("@", MARK)


def dsml_call(value: str) -> str:
    """Return a call of DeepSeek V3.2 or V4 without the element around all calls. value: from its attribute on."""
    return f'<｜DSML｜invoke name="f">\n<｜DSML｜parameter name="a" {value}</｜DSML｜parameter></｜DSML｜invoke>'


WRITTEN = {
    "mistral": f'[TOOL_CALLS][{{"name": "get_weather", "arguments": {ARGS}, "id": "abc123def"}}, '
    f'{{"name": "get_weather", "arguments": {ROMAN}, "id": "abc123deg"}}]',
    "mistral-v11": f"[TOOL_CALLS]get_weather[CALL_ID]abc123def[ARGS]{ARGS}"
    f"[TOOL_CALLS]get_weather[CALL_ID]abc123deg[ARGS]{ROMAN}",
    "mistral-v13": f"[TOOL_CALLS]get_weather[ARGS]{ARGS}[TOOL_CALLS]get_weather[ARGS]{ROMAN}",
    "llama3": f'{{"name": "get_weather", "parameters": {ARGS}}}; {{"name": "get_weather", "parameters": {ROMAN}}}',
    "granite3": f'<|tool_call|>[{{"name": "get_weather", "arguments": {ARGS}}}, '
    f'{{"name": "get_weather", "arguments": {ROMAN}}}]',
    "phi4-mini": f'<|tool_call|>[{{"name": "get_weather", "arguments": {ARGS}}}, '
    f'{{"name": "get_weather", "arguments": {ROMAN}}}]<|/tool_call|>',
    "phi4-mini-functools": f'functools[{{"name": "get_weather", "arguments": {ARGS}}}, '
    f'{{"name": "get_weather", "arguments": {ROMAN}}}]',
    "deepseek-v3": "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>get_weather\n```json\n"
    f"{ARGS}\n```<｜tool▁call▁end｜>\n<｜tool▁call▁begin｜>function<｜tool▁sep｜>get_weather\n```json\n"
    f"{ROMAN}\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
    "deepseek-v3.1": "<｜tool▁calls▁begin｜>"
    f"<｜tool▁call▁begin｜>get_weather<｜tool▁sep｜>{ARGS}<｜tool▁call▁end｜>"
    f"<｜tool▁call▁begin｜>get_weather<｜tool▁sep｜>{ROMAN}<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
    "qwen3-coder": "<tool_call>\n<function=get_weather>\n<parameter=city>\nParis\n</parameter>\n<parameter=days>\n2\n"
    "</parameter>\n</function>\n</tool_call>\n<tool_call>\n<function=get_weather>\n<parameter=city>\nRome\n</parameter>\n"
    "<parameter=days>\n2\n</parameter>\n</function>\n</tool_call>",
    "hermes": f'<tool_call>\n{{"name": "get_weather", "arguments": {ARGS}}}\n</tool_call>\n'
    f'<tool_call>\n{{"name": "get_weather", "arguments": {ROMAN}}}\n</tool_call>',
    "gemma4": '<|tool_call>call:get_weather{city:<|"|>Paris<|"|>,days:2}<tool_call|>'
    '<|tool_call>call:get_weather{city:<|"|>Rome<|"|>,days:2}<tool_call|>',
    "kimi-k2": "<|tool_calls_section_begin|>"
    f"<|tool_call_begin|>functions.get_weather:0<|tool_call_argument_begin|>{ARGS}<|tool_call_end|>"
    f"<|tool_call_begin|>functions.get_weather:1<|tool_call_argument_begin|>{ROMAN}<|tool_call_end|>"
    "<|tool_calls_section_end|>",
    "glm-4.5": "<tool_call>get_weather\n<arg_key>city</arg_key>\n<arg_value>Paris</arg_value>\n"
    "<arg_key>days</arg_key>\n<arg_value>2</arg_value>\n</tool_call>\n<tool_call>get_weather\n<arg_key>city</arg_key>\n"
    "<arg_value>Rome</arg_value>\n<arg_key>days</arg_key>\n<arg_value>2</arg_value>\n</tool_call>",
    "glm-4.7": "<tool_call>get_weather<arg_key>city</arg_key><arg_value>Paris</arg_value><arg_key>days</arg_key>"
    "<arg_value>2</arg_value></tool_call><tool_call>get_weather<arg_key>city</arg_key><arg_value>Rome</arg_value>"
    "<arg_key>days</arg_key><arg_value>2</arg_value></tool_call>",
    "olmo3": "<function_calls>\nget_weather(city='Paris', days=2)\n"
    'get_weather(city="Rome", days=2)\n</function_calls>',
    "pythonic": "[get_weather(city='Paris', days=2), get_weather(city=\"Rome\", days=2)]",
    "llama4": f'{{"name": "get_weather", "parameters": {ARGS}}}; {{"name": "get_weather", "parameters": {ROMAN}}}',
    "harmony": f"<|start|>assistant to=functions.get_weather<|channel|>commentary json<|message|>{ARGS}"
    f"<|start|>assistant to=functions.get_weather<|channel|>commentary json<|message|>{ROMAN}",
    "apertus": f'<|tools_prefix|>[{{"get_weather": {ARGS}}}, {{"get_weather": {ROMAN}}}]<|tools_suffix|>',
    "apriel": f'<tool_calls>[{{"name": "get_weather", "arguments": {ARGS}, "id": "000000000"}}, '
    f'{{"name": "get_weather", "arguments": {ROMAN}, "id": "000000001"}}]</tool_calls>',
    "cohere": f'<|START_ACTION|>[\n    {{"tool_call_id": "0", "tool_name": "get_weather", "parameters": {ARGS}}},\n'
    f'    {{"tool_call_id": "1", "tool_name": "get_weather", "parameters": {ROMAN}}}\n]<|END_ACTION|>',
    "functionary-v3.1": f"<function=get_weather>{ARGS}</function><function=get_weather>{ROMAN}</function>",
    "gigachat3": f'<|message_sep|>\n\nfunction call<|role_sep|>\n{{"name": "get_weather", "arguments": {ARGS}}}'
    f'<|message_sep|>\n\nfunction call<|role_sep|>\n{{"name": "get_weather", "arguments": {ROMAN}}}',
    "gigachat3.1": f'<|function_call|>{{"name": "get_weather", "arguments": {ARGS}}}'
    f'<|function_call|>{{"name": "get_weather", "arguments": {ROMAN}}}',
    "hunyuan3": "<tool_calls:opensource>\n<tool_call:opensource>get_weather<tool_sep:opensource>\n"
    "<arg_key:opensource>city</arg_key:opensource>\n<arg_value:opensource>Paris</arg_value:opensource>\n"
    "<arg_key:opensource>days</arg_key:opensource>\n<arg_value:opensource>2</arg_value:opensource>\n"
    "</tool_call:opensource>\n<tool_call:opensource>get_weather<tool_sep:opensource>\n"
    "<arg_key:opensource>city</arg_key:opensource>\n<arg_value:opensource>Rome</arg_value:opensource>\n"
    "<arg_key:opensource>days</arg_key:opensource>\n<arg_value:opensource>2</arg_value:opensource>\n"
    "</tool_call:opensource>\n</tool_calls:opensource>",
    "muse": '<|start|>assistant to=get_weather<|message|><atem:function_calls>\n<atem:invoke name="get_weather">\n'
    '<atem:parameter name="city">Paris</atem:parameter>\n<atem:parameter name="days">2</atem:parameter>\n'
    "</atem:invoke>\n</atem:function_calls><|eom|><|start|>assistant to=get_weather<|message|><atem:function_calls>\n"
    '<atem:invoke name="get_weather">\n<atem:parameter name="city">Rome</atem:parameter>\n'
    '<atem:parameter name="days">2</atem:parameter>\n</atem:invoke>\n</atem:function_calls>',
    "solar": "<|end|><|begin|>assistant<|tool_calls|>"
    f"<|tool_call:begin|>a1b2c3d4e5<|tool_call:name|>get_weather<|tool_call:args|>{ARGS}<|tool_call:end|>"
    f"<|tool_call:begin|>a1b2c3d4e6<|tool_call:name|>get_weather<|tool_call:args|>{ROMAN}<|tool_call:end|><|calls|>",
    "openpangu": f'[unused11][{{"name": "get_weather", "arguments": {ARGS}}}, '
    f'{{"name": "get_weather", "arguments": {ROMAN}}}][unused12]',
    "seed-oss": "<seed:tool_call>\n<function=get_weather>\n<parameter=city>Paris</parameter>\n<parameter=days>2"
    "</parameter>\n</function>\n</seed:tool_call>\n<seed:tool_call>\n<function=get_weather>\n<parameter=city>Rome"
    "</parameter>\n<parameter=days>2</parameter>\n</function>\n</seed:tool_call>",
    "minimax-m2": '\n<minimax:tool_call>\n<invoke name="get_weather">\n<parameter name="city">Paris</parameter>\n'
    '<parameter name="days">2</parameter>\n</invoke>\n<invoke name="get_weather">\n<parameter name="city">Rome'
    '</parameter>\n<parameter name="days">2</parameter>\n</invoke>\n</minimax:tool_call>',
    "minimax-m3": m3(
        '<tool_call>\n@<invoke name="get_weather">@<city>Paris@</city>@<days>2@</days>@</invoke>\n'
        '@<invoke name="get_weather">@<city>Rome@</city>@<days>2@</days>@</invoke>\n@</tool_call>'
    ),
    "minicpm5": '<function name="get_weather"><param name="city">Paris</param><param name="days">2</param></function>\n'
    '<function name="get_weather"><param name="city"><![CDATA[Rome]]></param><param name="days">2</param></function>',
    "lfm2": "<|tool_call_start|>[get_weather(city='Paris', days=2), "
    'get_weather(city="Rome", days=2)]<|tool_call_end|>',
    "minimax-m1": f'<tool_calls>\n{{"name": "get_weather", "arguments": {ARGS}}}\n'
    f'{{"name": "get_weather", "arguments": {ROMAN}}}\n</tool_calls>',
    "nemotron2": f'<TOOLCALL>[{{"name": "get_weather", "arguments": {ARGS}}}, '
    f'{{"name": "get_weather", "arguments": {ROMAN}}}]</TOOLCALL>',
    "deepseek-v3.2": dsml("function_calls"),
    "deepseek-v4": dsml("tool_calls"),
}
"""Two calls of each family, literally as its models write them."""

_ARGUMENT = '"city"|<parameter=|(?<=param) name=|(?<=parameter) name=|<city>|city=|city:|<arg_value'
"""The text with which the first argument begins."""

PIECES = (
    "{",
    "}",
    '"name": "f"',
    '"a"',
    ", ",
    "\n",
    "x",
    "```",
    "[ARGS]",
    ";",
    "f.call(",
    '{"name": "f", "parameters": {}}',
)


def format_of(name: str) -> ToolFormat:
    return ToolFormat(name, syntax_named(name), {})


def events_of(name: str, pieces: list[str], cut_before: str | None = None) -> list[AnswerEvent]:
    parser = make_parser(syntax_named(name), parallel=True, json_fields=FIELDS)
    return merged([*(event for piece in pieces for event in parser.push(piece)), *parser.finish(cut_before)])


def test_every_format_has_its_literal_calls() -> None:
    assert set(WRITTEN) == set(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_literal_calls_are_read(name: str) -> None:
    text = SPOKEN.get(name, "Well. ")
    assert parsed_of(events_of(name, [text + WRITTEN[name]])) == Parsed((*filter(None, [text]), WEATHER, ROME))
    assert parsed_of(events_of(name, [WRITTEN[name] + "\n"])).text == ""
    assert parsed_of(events_of(name, ["No call."])) == Parsed(("No call.",))


@pytest.mark.parametrize("name", NAMES)
def test_written_calls_come_back(name: str) -> None:
    calls = (DEEP, ToolCall("now", "{}"), WEATHER)
    text = SPOKEN.get(name, "Well. ")
    assert parsed_of(events_of(name, [text + format_of(name).calls(calls)])).calls == calls


@pytest.mark.parametrize("name", NAMES)
@settings(deadline=None, max_examples=10)
@given(data=st.data())
def test_events_do_not_depend_on_pieces(name: str, data: st.DataObject) -> None:
    calls = format_of(name).calls((DEEP, WEATHER))
    parts = st.sampled_from((WRITTEN[name], calls, calls[:25], *PIECES, *syntax_named(name).words))
    text = "".join(data.draw(st.lists(parts, max_size=5)))
    text = text[: data.draw(st.integers(0, len(text)))]
    at = sorted(data.draw(st.lists(st.integers(0, len(text)), max_size=4)))
    cut_before = data.draw(st.sampled_from([None, ""]))
    whole = events_of(name, [text], cut_before)
    assert events_of(name, list(text), cut_before) == whole
    assert events_of(name, [text[i:j] for i, j in zip([0, *at], [*at, len(text)], strict=True)], cut_before) == whole


@pytest.mark.parametrize("name", NAMES)
def test_cut_calls_show_no_markup_and_keep_arguments(name: str, size: Size) -> None:
    before = SPOKEN.get(name, "So. ")
    calls = (WEATHER, ToolCall("now", "{}"), DEEP)
    text = before + format_of(name).calls(calls)
    for end in range(0, len(text) + 1, size.pick(small=3, full=1)):
        said = parsed_of(events_of(name, [text[:end]], ""))
        assert said.text == before[:end]
        for call, whole in zip(said.calls, calls, strict=False):
            assert call.name == whole.name
            assert whole.arguments.startswith(call.arguments)
            assert call.is_complete == (call.arguments == whole.arguments)
    begun = text[: re.search(_ARGUMENT, text).start()]  # type: ignore[union-attr]
    [cut] = parsed_of(events_of(name, [begun], "")).calls
    assert cut == ToolCall("get_weather", "{", is_complete=False)


@pytest.mark.parametrize("name", NAMES)
def test_only_complete_calls_are_handed_out(name: str, size: Size) -> None:
    calls = (WEATHER, ToolCall("now", "{}"), DEEP)
    text = SPOKEN.get(name, "So. ") + format_of(name).calls(calls)
    for end in range(0, len(text) + 1, size.pick(small=17, full=1)):
        parser = make_parser(syntax_named(name), parallel=True, json_fields=FIELDS, only_complete=True)
        said = parser.whole(text[:end], "")
        complete = [call for call in parsed_of(events_of(name, [text[:end]], "")).calls if call.is_complete]
        assert said.calls == calls[: len(complete)] == tuple(complete)


@pytest.mark.parametrize(
    ("name", "begun", "filling"),
    [
        ("pythonic", '[f(a="', "x"),
        ("pythonic", "[f(a=1,", " "),
        ("pythonic", "[", " "),
        ("olmo3", "<function_calls>\nf(a=1)", "\n"),
        ("gemma4", '<|tool_call>call:f{a:<|"|>', "<|"),
        ("glm-4.7", "<tool_call>f<arg_key>a</arg_key><arg_value>", "<"),
        ("glm-4.7", "<tool_call>f<arg_key>a</arg_key>", " "),
        ("qwen3-coder", "<function=f>", "\n"),
        ("qwen3-coder", "<tool_call>", "\n"),
        ("minicpm5", '<function name="f"><param name="a"><![CDATA[', "]]"),
        ("kimi-k2", "<|tool_call_begin|>f:0<|tool_call_argument_begin|>{", " "),
        ("harmony", "<|start|>assistant to=functions.", "x"),
    ],
)
def test_calls_of_many_pieces_take_linear_time(name: str, begun: str, filling: str) -> None:
    parser = make_parser(syntax_named(name), parallel=True)
    parser.push(begun)
    began = time.thread_time()
    for _ in range(20_000):
        parser.push(filling * 100)
    # A run takes about half a second. Where all space or text so far is read again with each piece, it takes ten.
    assert time.thread_time() - began < 4.0


def test_many_marks_around_calls_take_linear_time() -> None:
    def seconds(num_marks: int) -> float:
        text = "<|tool_calls_section_begin|>" * num_marks
        began = time.thread_time()
        assert parsed_of(events_of("kimi-k2", [text])) == Parsed((text,))
        return time.thread_time() - began

    # Ten times as much text takes ten times as long. Where each mark copies those before it, it takes a hundred times.
    assert seconds(60_000) < 40 * seconds(6_000)


def test_json_answer_of_llama_is_no_call_without_its_fields() -> None:
    for text in (
        '{"city": "Paris"}',
        '{"name": "Paul", "age": 3}',
        '{"name": "Paul"',
        "{",
        " {x",
        '{"name": 1}',
        "[1]",
    ):
        assert parsed_of(events_of("llama3", [text])) == Parsed((text,))
    typed = '{"type": "function", "name": "now", "parameters": {}}'
    assert parsed_of(events_of("llama3", [f"<|python_tag|>{typed}"])) == Parsed((ToolCall("now", "{}"),))
    assert parsed_of(events_of("llama3", [f"{typed}; that is all"])) == Parsed((ToolCall("now", "{}"), "; that is all"))


@pytest.mark.parametrize(
    ("name", "text", "arguments"),
    [
        ("gemma4", '<|tool_call>call:f{a:<|"|>}{"x"\\n<|"|>}<tool_call|>', {"a": '}{"x"\\n'}),
        ("gemma4", '<|tool_call>call:f{"a":"x",b:[{c:null}]}<tool_call|>', {"a": "x", "b": [{"c": None}]}),
        (
            "pythonic",
            "[f(a='it\\'s \\u00e9\\n', b=[[1, 2], {'c': None}])]",
            {"a": "it's é\n", "b": [[1, 2], {"c": None}]},
        ),
        ("pythonic", '{"name": "f", "parameters": {"a": 1}}', {"a": 1}),
        ("pythonic", "<|python_start|>[f(a=true,)]<|python_end|>", {"a": True}),
        ("pythonic", '[f(a="\\ud83d\\ude00")]', {"a": "\U0001f600"}),
        ("llama4", "[f(a=1_000)]", {"a": 1000}),
        ("lfm2", "<|tool_call_start|>[f(a='it's \"so\"', b='')]<|tool_call_end|>", {"a": 'it\'s "so"', "b": ""}),
        ("llama3", '{"type": "function", "name": "f", "arguments": {"a": 1}}', {"a": 1}),
        ("llama3", '<|python_tag|>f.call(query="high tide")', {"query": "high tide"}),
        ("llama3", "<|python_tag|>f.call()", {}),
        ("llama3", '<|python_tag|>[{"name": "f", "parameters": {"a": 1}}]', {"a": 1}),
        ("glm-4.7", "<tool_call>f \n</tool_call>", {}),
        ("glm-4.5", "<tool_call>f </tool_call>", {}),
        ("phi4-mini", '<|tool_call|>[{"name": "f", "arguments": {"a": "]<|"}}]<|/tool_call|>', {"a": "]<|"}),
        ("hermes", '<tool_call>{"name": "f", "arguments": "{\\"a\\": 1}"}</tool_call>', {"a": 1}),
        ("qwen3-coder", "<function=f><parameter=a>x</parameter></function>", {"a": "x"}),
        ("glm-4.7", "<tool_call>f<arg_key>a</arg_key>\n<arg_value>1_0\n</arg_value></tool_call>", {"a": "1_0\n"}),
        ("glm-4.5", "<tool_call>f\n</tool_call>", {}),
        ("seed-oss", "<function=f><parameter=a>\nx\n</parameter></function>", {"a": "\nx\n"}),
        ("minimax-m2", '<invoke name="f"><parameter name="a">x</parameter></invoke>', {"a": "x"}),
        ("minicpm5", '<function name="f">\n<param name="a"><b></param>\n</function>', {"a": "<b>"}),
        ("minicpm5", '<function name="f"><param name="a"><![CDATA[]]></param></function>', {"a": ""}),
        ("minicpm5", '<function name="f"><param name="a"><![CDATA[</param>]]></param></function>', {"a": "</param>"}),
        (
            "minimax-m3",
            m3('<invoke name="f">@<a>\n@<b>1@</b>\n@<item>x@</item>@</a>@</invoke>'),
            {"a": {"b": 1, "item": "x"}},
        ),
        ("minimax-m3", m3('<invoke name="f">@<a>@<item>@</item>@<item>007@</item>@</a>@</invoke>'), {"a": ["", "007"]}),
        ("minimax-m3", m3('<invoke name="f">\n@<a> \n x\n@</a>@</invoke>'), {"a": " \n x\n"}),
        ("deepseek-v3.2", dsml_call('string="false">[1, "<"]'), {"a": [1, "<"]}),
        ("deepseek-v3.2", dsml_call('string="true">1'), {"a": "1"}),
        ("deepseek-v4", dsml_call(">1"), {"a": "1"}),
        (
            "kimi-k2",
            "<|tool_call_section_begin|><|tool_call_begin|>f:3<|tool_call_argument_begin|>{}<|tool_call_end|>",
            {},
        ),
    ],
)
def test_forms_that_models_write_too_are_read(name: str, text: str, arguments: dict[str, Any]) -> None:
    parsed = parsed_of(events_of(name, [text]))
    [call] = parsed.calls
    assert (parsed.text, call.name, call.is_complete) == ("", "f", True)
    assert json.loads(call.arguments) == arguments


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("pythonic", "[1, 2] and f(a=1)"),
        ("pythonic", "[see f(x)](https://example.org)"),
        ("pythonic", "[f(1)]"),
        ("pythonic", "[f(a=1"[:4] + " b)]"),
        ("pythonic", "f(a=1)"),
        ("llama3", "<|python_tag|>print(1)"),
        ("llama3", "<|python_tag|>f(a=1)"),
        ("llama3", "<|python_tag|>import math\nmath.call(1)"),
        ("olmo3", "<function_calls> are lines"),
        ("gemma4", "<|tool_call>name:f{}"),
        ("glm-4.5", "<tool_call> marks a call <b>"),
        ("glm-4.7", "Between <tool_call> and </tool_call> is a call."),
        ("kimi-k2", "<|tool_call_begin|> begins {a}"),
        ("kimi-k2", "<|tool_calls_section_begin|> begins all calls."),
        ("kimi-k2", "The first mark is <|tool_calls_section_begin|>"),
        ("kimi-k2", "Write <|tool_calls_section_begin|><|tool_call_begin|> first."),
        ("kimi-k2", "<|tool_call_section_begin|> and <|tool_calls_section_begin|> <|tool_calls_section_begin|> too"),
        ("deepseek-v3", "Write <｜tool▁calls▁begin｜>, then <｜tool▁call▁begin｜>function and more."),
        ("deepseek-v3.1", "<｜tool▁call▁begin｜>x y"),
        ("mistral-v13", "[TOOL_CALLS] begins a call."),
        ("mistral-v13", "The mark is [TOOL_CALLS]."),
        ("gemma4", "The mark <|tool_call> begins a call."),
        ("hermes", "The mark is <tool_call>"),
        ("harmony", "<|start|>assistant to=functions. is a header."),
        ("minimax-m2", "Calls are between <minimax:tool_call> and </minimax:tool_call>."),
        ("minimax-m2", 'Write <invoke name="x"> there.'),
        ("minimax-m3", m3('<invoke name="x"> there.')),
        ("minimax-m3", m3("<tool_call> begins all calls.")),
        ("minimax-m1", "Write <tool_calls> first."),
        ("minimax-m1", '{"name": "f", "arguments": {}}'),
        ("lfm2", "[f(a=1)] is a list of calls."),
        ("nemotron2", "Write <TOOLCALL> first."),
        ("seed-oss", "<seed:tool_call> begins a call."),
        ("minicpm5", 'Write <function name="x"> first.'),
        ("deepseek-v3.2", "\n\n<｜DSML｜function_calls> begins all calls."),
    ],
)
def test_text_like_a_call_stays_text(name: str, text: str) -> None:
    assert parsed_of(events_of(name, [text])) == Parsed((text,))


@pytest.mark.parametrize(
    ("name", "mark"),
    [("mistral-v11", "[TOOL_CALLS]"), ("gemma4", "<|tool_call>"), ("deepseek-v3", "<｜tool▁calls▁begin｜>")],
)
def test_mention_of_a_mark_is_emitted_with_the_next_words(name: str, mark: str) -> None:
    parser = make_parser(syntax_named(name), parallel=True)
    assert parser.push(f"The mark {mark}") == [TextPiece("The mark ")]
    assert merged([*parser.push(" begins"), *parser.push(" calls")]) == [TextPiece(f"{mark} begins calls")]


@pytest.mark.parametrize(
    ("name", "mark"),
    [("hermes", "<tool_call>"), ("kimi-k2", "<|tool_calls_section_begin|>"), ("glm-4.7", "<tool_call>")],
)
def test_mark_at_the_end_is_no_text_after_a_call(name: str, mark: str) -> None:
    assert parsed_of(events_of(name, [f"{WRITTEN[name]}\n{mark}"])) == Parsed((WEATHER, ROME))
    assert parsed_of(events_of(name, [f"Write {mark}"], "")) == Parsed(("Write ",))


@pytest.mark.parametrize(
    ("text", "arguments"),
    [
        ("[f(a=1, b=x)]", '{"a": 1, "b": '),
        ("[f(a=1, 2)]", '{"a": 1'),
        ('[f(a="\\ud83d is half")]', '{"a": "'),
        ("[f(a=true_x)]", '{"a": '),
        ("[f(a=1, a=2)]", '{"a": 1'),
        ("[f(a='x'", '{"a": "x'),
    ],
)
def test_python_call_ends_where_it_is_no_literal(text: str, arguments: str) -> None:
    [call] = parsed_of(events_of("pythonic", [text])).calls
    assert call == ToolCall("f", arguments, is_complete=False)
    assert parsed_of(events_of("pythonic", list(text))) == parsed_of(events_of("pythonic", [text]))


def test_arguments_after_a_name_without_its_mark_are_read() -> None:
    assert parsed_of(events_of("mistral-v13", [f"[TOOL_CALLS]get_weather{ARGS}"])).calls == (WEATHER,)


def tools() -> list[dict[str, Any]]:
    properties = {"city": {"type": "string"}, "days": {"type": "integer"}}
    parameters = {"type": "object", "properties": properties, "required": ["city", "days"]}
    return [{"name": "now"}, {"name": "get_weather", "parameters": parameters | {"additionalProperties": False}}]


@pytest.mark.parametrize("name", NAMES)
def test_tools_are_described_in_the_prompt(name: str) -> None:
    listed = json.dumps([{"type": "function", "function": tool} for tool in tools()])
    text = format_of(name).system(listed)
    assert '"name": "get_weather"' in text
