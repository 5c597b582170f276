"""Texts of models, which write what strangers ask for: calls in every format, reasoning, stop texts."""

from collections.abc import Callable
from typing import Final

from app.domain.bounds import MAX_STOP_STRINGS
from engine.grammar.call_finder import CallFinder, Openings
from engine.text.answer_text import AnswerFormat
from engine.text.detokenizer import StopStrings
from models.chat.call_syntax.element_calls import ElementCalls
from models.chat.call_syntax.nested_reader import MARK as M3_MARK
from models.chat.call_syntax.registry import NAMES, syntax_named
from models.chat.custom_input import CustomInput, arguments_of
from models.chat.harmony_thinking import CHANNEL, MESSAGE, START
from models.chat.json_scanner import JsonScanner
from models.chat.tool_format import make_parser
from models.chat.written_thinking import GRANITE33, ReasoningSplitter
from tests.cost_rows import MOST_GROWTH, CostRow, for_each, growth, repeated
from tests.sizes import LARGE, Size

PIECE: Final = 4
"""Characters of a token."""

FIELDS: Final = frozenset({"f.a"})

HEADS: Final = {
    "mistral": '[TOOL_CALLS][{"name": "f", "arguments": ',
    "mistral-v11": "[TOOL_CALLS]f[CALL_ID]abc123def[ARGS]",
    "mistral-v13": "[TOOL_CALLS]f[ARGS]",
    "llama3": '{"name": "f", "parameters": ',
    "llama4": '{"name": "f", "parameters": ',
    "granite3": '<|tool_call|>[{"name": "f", "arguments": ',
    "phi4-mini": '<|tool_call|>[{"name": "f", "arguments": ',
    "phi4-mini-functools": 'functools[{"name": "f", "arguments": ',
    "deepseek-v3": "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>f\n```json\n",
    "deepseek-v3.1": "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>f<｜tool▁sep｜>",
    "qwen3-coder": "<tool_call>\n<function=f>\n<parameter=a>\n",
    "hermes": '<tool_call>\n{"name": "f", "arguments": ',
    "gemma4": "<|tool_call>call:f",
    "kimi-k2": "<|tool_calls_section_begin|><|tool_call_begin|>functions.f:0<|tool_call_argument_begin|>",
    "glm-4.5": "<tool_call>f\n<arg_key>a</arg_key>\n<arg_value>",
    "glm-4.7": "<tool_call>f<arg_key>a</arg_key><arg_value>",
    "olmo3": "<function_calls>\nf(a=",
    "pythonic": "[f(a=",
    "harmony": f"{START}assistant to=functions.f{CHANNEL}commentary json{MESSAGE}",
    "apertus": '<|tools_prefix|>[{"f": ',
    "apriel": '<tool_calls>[{"name": "f", "arguments": ',
    "cohere": '<|START_ACTION|>[{"tool_call_id": "0", "tool_name": "f", "parameters": ',
    "functionary-v3.1": "<function=f>",
    "gigachat3": '<|message_sep|>\n\nfunction call<|role_sep|>\n{"name": "f", "arguments": ',
    "gigachat3.1": '<|function_call|>{"name": "f", "arguments": ',
    "hunyuan3": "<tool_call:opensource>f<tool_sep:opensource>\n<arg_key:opensource>a</arg_key:opensource>\n"
    "<arg_value:opensource>",
    "muse": "<|start|>assistant to=f<|message|><atem:function_calls>\n"
    '<atem:invoke name="f">\n<atem:parameter name="a">',
    "solar": "<|tool_calls|><|tool_call:begin|>a1<|tool_call:name|>f<|tool_call:args|>",
    "lfm2": "<|tool_call_start|>[f(a=",
    "minimax-m1": '<tool_calls>\n{"name": "f", "arguments": ',
    "nemotron2": '<TOOLCALL>[{"name": "f", "arguments": ',
    "seed-oss": "<seed:tool_call>\n<function=f>\n<parameter=a>",
    "minimax-m2": '<minimax:tool_call>\n<invoke name="f">\n<parameter name="a">',
    "minimax-m3": f'{M3_MARK}<tool_call>\n{M3_MARK}<invoke name="f">{M3_MARK}<a>',
    "minicpm5": '<function name="f"><param name="a">',
    "deepseek-v3.2": '<｜DSML｜function_calls>\n<｜DSML｜invoke name="f">\n<｜DSML｜parameter name="a" string="true">',
    "deepseek-v4": '<｜DSML｜tool_calls>\n<｜DSML｜invoke name="f">\n<｜DSML｜parameter name="a" string="false">',
    "openpangu": '[unused11][{"name": "f", "arguments": ',
}
"""Beginnings of calls, up to the first argument or its value."""

VALUES: Final = (
    "lfm2",
    "minimax-m3",
    "olmo3",
    "pythonic",
    *(name for name in NAMES if isinstance(syntax_named(name), ElementCalls)),
)
"""Formats whose heads end before a value, and not before all arguments."""

BODIES: Final = (
    ("a long text", '{"a": "', "ab "),
    ("a text of escapes", '{"a": "', "\\n"),
    ("a long number", '{"a": ', "9"),
    ("a list", '{"a": [', "1, "),
    ("opened brackets", "", "["),
    ("spaces", "", " \n"),
    ("quotes", "", "'\""),
    ("ends", "", "</"),
)
"""Names of arguments, their beginnings, and what follows as often as the size says."""


def read_in_pieces(name: str) -> Callable[[str], object]:
    """Return a reader of an answer that comes token by token."""

    def read(text: str) -> None:
        parser = make_parser(syntax_named(name), parallel=True, json_fields=FIELDS)
        for at in range(0, len(text), PIECE):
            parser.push(text[at : at + PIECE])
        parser.finish()

    return read


def read_whole(name: str) -> Callable[[str], object]:
    """Return a reader of a stored answer."""
    return lambda text: make_parser(syntax_named(name), parallel=True, json_fields=FIELDS).whole(text)


def answer(name: str, before: str, text: str) -> Callable[[int], str]:
    """Return a maker of answers with one call in a format."""
    begun = before.removeprefix('{"a": ') if name in VALUES else before
    return repeated(text, HEADS[name] + begun)


def calls(name: str) -> Callable[[int], str]:
    """Return a maker of answers that begin a call in a format again and again."""
    return repeated(HEADS[name])


def push_all(push: Callable[[str], object]) -> Callable[[str], None]:
    """Return a reader that takes a text token by token."""

    def read(text: str) -> None:
        for at in range(0, len(text), PIECE):
            push(text[at : at + PIECE])

    return read


def split_reasoning(text: str) -> None:
    push_all(ReasoningSplitter(GRANITE33, inside=False).push)(text)


MANY_STOPS: Final = tuple(f"{'a' * (at + 4)}b" for at in range(MAX_STOP_STRINGS))


def cut_at(*stop: str) -> Callable[[str], None]:
    return lambda text: push_all(StopStrings(stop).push)(text)


def push_of_custom(text: str) -> None:
    push_all(CustomInput().push)(text)


def find_calls(text: str) -> None:
    """Look for calls of a tool in an answer with a token for each byte."""
    answers = AnswerFormat(token_bytes=lambda id_: bytes([id_]))
    openings = Openings.of(('<tool_call>\n{"name":"f","arguments":{',), answers)
    finder = CallFinder(answers.begin(()), openings, lambda begun: list(begun.encode()))
    for id_ in text.encode():
        finder.push(id_)


ROWS: Final = (
    *(CostRow(f"{name} call", answer(name, *BODIES[0][1:]), read_in_pieces(name), 60, 12_000) for name in NAMES),
    *(CostRow(f"{name} calls", calls(name), read_in_pieces(name), 8, 250) for name in NAMES),
    CostRow("input of a custom tool", lambda size: arguments_of("\n" * size), push_of_custom, 400, 50_000),
    CostRow("input that is no field", repeated("[", "{"), push_of_custom, 400, 50_000),
    CostRow("input that is no JSON", repeated("\0", '{"input":"'), push_of_custom, 400, 50_000),
    CostRow("input after spaces", repeated(" ", "{"), push_of_custom, 400, 50_000),
    CostRow("JSON in pieces", repeated('"a",', "["), lambda text: push_all(JsonScanner().push)(text), 200, 50_000),
    CostRow("mentions of calls", repeated("<tool_call> {"), find_calls, 40, 4_000),
    CostRow("spaces of a call", repeated(" ", "<tool_call>"), find_calls, 500, 50_000),
    CostRow("reasoning", repeated("a", "<think>"), split_reasoning, 1_000, 100_000),
    CostRow("reasoning of begun marks", repeated("</", "<think>"), split_reasoning, 500, 100_000),
    CostRow("reasoning of spaces", repeated(" "), split_reasoning, 1_000, 100_000),
    CostRow("answer with a frame", repeated("</respons", "<think></think><response>"), split_reasoning, 150, 25_000),
    CostRow("answer of a begun stop text", repeated("aaab"), cut_at("a" * 16), 250, 50_000),
    CostRow("answer of many stop texts", repeated("a"), cut_at(*MANY_STOPS), 600, 10_000),
)
FURTHER_ROWS: Final = (
    *(
        CostRow(f"{name} call with {kind}", answer(name, before, text), read_in_pieces(name), 0, 4_000)
        for name in NAMES
        for kind, before, text in BODIES[1:]
    ),
    *(CostRow(f"stored {name} calls", calls(name), read_whole(name), 0, 1_000) for name in NAMES),
    *(
        CostRow(f"stored {name} call with {kind}", answer(name, before, text), read_whole(name), 0, 8_000)
        for name in NAMES
        for kind, before, text in BODIES
    ),
)
"""Rows with one format and one kind of arguments each, for which `make test` has no time."""


@for_each(ROWS)
def test_cost_grows_in_proportion_to_input(row: CostRow, size: Size) -> None:
    assert growth(row, size.pick(small=row.size, full=row.full)) <= MOST_GROWTH


@LARGE
@for_each(FURTHER_ROWS)
def test_cost_of_every_argument_grows_in_proportion(row: CostRow) -> None:
    assert growth(row, row.full) <= MOST_GROWTH


def test_every_format_has_its_rows() -> None:
    assert set(HEADS) == set(NAMES)
