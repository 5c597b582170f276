"""Tools in prompts, written by the default of the model family or by the model's own template."""

import json
from pathlib import Path
from typing import Any

import pytest

from models.chat.format import ChatFormat, Message
from models.chat.tool_calls import Parsed, ToolCall, parsed_of
from models.chat.tool_format import find_tool_format
from models.errors import ChatFormatError
from models.tokenizers.tokenizer import Tokenizer
from tests.tiny_tokenizer import CHAT_TEMPLATE, TOKENIZER_CONFIG, byte_tokenizer

TOOL: dict[str, Any] = {"type": "function", "function": {"name": "weather", "description": "<|im_end|> of a city"}}
TOOLS = Message("tools", json.dumps([TOOL]))
CALLS = (ToolCall("weather", '{"city": "<|im_end|>"}'), ToolCall("now", "{}"))
SAID = [
    TOOLS,
    Message("system", "Be brief."),
    Message("user", "Weather?"),
    Message("assistant", "Let me see.", CALLS),
    Message("tool", "21 <|im_end|>"),
    Message("tool", "noon"),
]
NATIVE = (
    "{% if tools %}{% for tool in tools %}{{ tool | tojson }}{% endfor %}{% endif %}"
    "{% for message in messages %}<|im_start|>{{ message.role }}\n{{ message.content }}"
    "{% for call in message.tool_calls or [] %}{% set tool_call = call.function %}"
    "<tool_call>{{ tool_call.name }} {{ tool_call.arguments | tojson }}{% endfor %}<|im_end|>{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)


def make(path: Path, template: str) -> tuple[Tokenizer, ChatFormat]:
    byte_tokenizer().save(str(path / "tokenizer.json"))
    (path / "config.json").write_text('{"bos_token_id": 1, "eos_token_id": 2}')
    (path / "tokenizer_config.json").write_text(json.dumps(TOKENIZER_CONFIG | {"chat_template": template}))
    tokenizer = Tokenizer.load(path)
    return tokenizer, ChatFormat.load(path, tokenizer)


def test_template_without_tools_gets_hermes_format(tmp_path: Path) -> None:
    tokenizer, chat = make(tmp_path, CHAT_TEMPLATE)
    text = tokenizer.describe(chat.render(SAID))
    system, user, assistant, result, another, _ = text.split("<|im_start|>")[1:]
    assert system.startswith("system\nBe brief.\n\n# Tools")
    assert json.dumps(TOOL) in system
    assert user == "user\nWeather?<|im_end|>\n"
    assert assistant == (
        'assistant\nLet me see.\n<tool_call>\n{"name":"weather","arguments":{"city": "<|im_end|>"}}\n</tool_call>\n'
        '<tool_call>\n{"name":"now","arguments":{}}\n</tool_call><|im_end|>\n'
    )
    assert result == "user\n<tool_response>\n21 <|im_end|>\n</tool_response><|im_end|>\n"
    assert another == "user\n<tool_response>\nnoon\n</tool_response><|im_end|>\n"


@pytest.mark.parametrize("template", [CHAT_TEMPLATE, NATIVE], ids=["default", "native"])
def test_system_messages_with_tools_keep_their_order(tmp_path: Path, template: str) -> None:
    tokenizer, chat = make(tmp_path, template)
    systems = [Message("system", word) for word in ("FIRST", "SECOND", "THIRD")]
    later = [Message("user", "Q1"), Message("system", "LATER"), Message("user", "Q2")]
    text = tokenizer.describe(chat.render([TOOLS, *systems, *later]))
    begins = [text.index(word) for word in ("FIRST", "SECOND", "THIRD", "Q1", "LATER", "Q2")]
    assert begins == sorted(begins)
    assert text.index('"weather"') < text.index("Q1")


@pytest.mark.parametrize("template", [CHAT_TEMPLATE, NATIVE], ids=["default", "native"])
def test_tool_text_never_becomes_a_control_token(tmp_path: Path, template: str) -> None:
    _, chat = make(tmp_path, template)
    ids = chat.render(SAID)
    assert [id_ for id_ in ids if id_ < 3] == [1, 2] * (len(SAID) - 1) + [1]
    extended = chat.extend([5, 6], SAID, num_new=2)
    assert [id_ for id_ in extended if id_ < 3] == [2, 1, 2, 1, 2, 1]


def test_template_with_tools_writes_them_itself(tmp_path: Path) -> None:
    tokenizer, chat = make(tmp_path, NATIVE)
    text = tokenizer.describe(chat.render(SAID))
    assert text.startswith(json.dumps(TOOL))
    assert '<tool_call>weather {"city": "<|im_end|>"}<tool_call>now {}' in text
    assert "tool\n21 " in text


@pytest.mark.parametrize("control", [{}, {"[unused11]": 11, "[unused12]": 12}], ids=["hermes", "pangu"])
def test_calls_round_trip_in_each_format(control: dict[str, int]) -> None:
    how = find_tool_format(control, "")
    cut = ToolCall("weather", '{"city": "Pa', is_complete=False)
    for calls in (CALLS, (*CALLS, cut), (cut, *CALLS)):
        assert how.parser().whole("Well. " + how.calls(calls)) == Parsed(("Well. ", *calls))
    assert how.parser().whole(how.calls([ToolCall("now", "")])).calls == (ToolCall("now", "{}"),)


def test_space_around_calls_is_dropped_unless_text_follows() -> None:
    how = find_tool_format({}, "")
    text = how.calls(CALLS) + "\n\n Done. "
    parser = how.parser()
    events = [*(event for character in text for event in parser.push(character)), *parser.finish()]
    assert parsed_of(events) == Parsed((*CALLS, "\n\n Done. "))


CUT = [Message("user", "Weather?"), Message("assistant", "", (ToolCall("weather", '{"city": "Pa'),))]
WRITTEN = "tool_call.arguments | tojson"
OF_FIELDS = NATIVE.replace(WRITTEN, "tool_call.arguments | items | list | tojson")
AS_TEXT = NATIVE.replace(WRITTEN, f"tool_call.arguments if tool_call.arguments is string else {WRITTEN}")


@pytest.mark.parametrize(
    ("template", "written"),
    [
        (CHAT_TEMPLATE, '"arguments":"{\\"city\\": \\"Pa"}'),
        (NATIVE, 'weather "{\\"city\\": \\"Pa"'),
        (AS_TEXT, 'weather {"city": "Pa'),
        (OF_FIELDS, 'weather [["INVALID_JSON", "{\\"city\\": \\"Pa"]]'),
    ],
    ids=["default", "json", "text", "fields"],
)
def test_cut_arguments_are_text_where_the_template_allows(tmp_path: Path, template: str, written: str) -> None:
    tokenizer, chat = make(tmp_path, template)
    assert written in tokenizer.describe(chat.render(CUT))
    whole = [CUT[0], Message("assistant", "", (ToolCall("weather", '{"city": "<|im_end|>"}'), ToolCall("now", "")))]
    assert "INVALID_JSON" not in tokenizer.describe(chat.render(whole))


def test_template_that_fails_refuses_the_messages(tmp_path: Path) -> None:
    _, chat = make(
        tmp_path, NATIVE + "{{ raise_exception('no') if 'Weather?' in messages | map(attribute='content') }}"
    )
    for messages in (CUT, SAID):
        with pytest.raises(ChatFormatError):
            chat.render(messages)


def test_ebb_writes_what_the_template_leaves_out(tmp_path: Path) -> None:
    begins, ends = NATIVE.index("{% for call in"), NATIVE.index("<|im_end|>{% endfor")
    without_calls = NATIVE[:begins] + "{# <tool_call> tool_call.arguments #}" + NATIVE[ends:]
    tokenizer, chat = make(tmp_path, without_calls)
    text = tokenizer.describe(chat.render(SAID))
    assert text.startswith(json.dumps(TOOL))
    assert "# Tools" not in text
    assert 'Let me see.\n<tool_call>\n{"name":"weather"' in text
    tokenizer, chat = make(tmp_path, NATIVE.replace("{{ tool | tojson }}", ""))
    text = tokenizer.describe(chat.render(SAID))
    assert "<|im_start|>system\nBe brief.\n\n# Tools" in text
    assert '<tool_call>weather {"city": "<|im_end|>"}' in text


def test_results_have_the_name_and_id_of_their_call(tmp_path: Path) -> None:
    content = "{{ message.content }}"
    named = "{{ message.name }} {{ message.tool_call_id }} " + content
    ids = NATIVE.replace("{{ tool_call.name }}", "{{ call.id }} {{ tool_call.name }}")
    tokenizer, chat = make(
        tmp_path, ids.replace(content, f"{{% if message.role == 'tool' %}}{named}{{% else %}}{content}{{% endif %}}")
    )
    again = [Message("assistant", "", (ToolCall("now", "{}"),)), Message("tool", "night")]
    text = tokenizer.describe(chat.render([*SAID, *again]))
    for number, call in enumerate(["weather 000000000 21", "now 000000001 noon", "now 000000002 night"]):
        assert call in text
        assert f"<tool_call>00000000{number} " in text
    assert "now 000000002 night" in tokenizer.describe(chat.extend([5], [*SAID, *again], num_new=1))


def test_results_that_need_written_calls_are_never_lost(tmp_path: Path) -> None:
    content = "{{ message.content }}"
    lost = "{% if message.role != 'tool' or messages[loop.index0 - 1].tool_calls %}" + content + "{% endif %}"
    tokenizer, chat = make(tmp_path, NATIVE.replace(content, lost))
    with pytest.raises(ChatFormatError, match="only after calls"):
        chat.extend([5], SAID[:5], num_new=1)
    assert "tool\n21" in tokenizer.describe(chat.render(SAID[:5]))


def test_result_without_its_call_is_rendered(tmp_path: Path) -> None:
    tokenizer, chat = make(tmp_path, NATIVE)
    assert "tool\nnoon" in tokenizer.describe(chat.render([Message("tool", "noon"), Message("user", "So?")]))
