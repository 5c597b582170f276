"""Conversations with tools in the templates of model families: the format is recognized, and history is literal."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pytest
from tokenizers import AddedToken

from models.chat.call_syntax.registry import NAMES
from models.chat.format import ChatFormat, Message
from models.chat.tool_calls import ToolCall
from models.errors import ChatFormatError
from models.tokenizers.tokenizer import Tokenizer
from tests import family_templates as templates
from tests import mistral_templates
from tests.tiny_openpangu import OPENPANGU
from tests.tiny_tokenizer import TOKENIZER_CONFIG, byte_tokenizer

DAYS = {"type": "object", "properties": {"days": {"type": "integer"}}}
TOOL: dict[str, Any] = {"type": "function", "function": {"name": "get_weather", "parameters": DAYS}}
TOOLS = Message("tools", json.dumps([TOOL]))
PARIS = ToolCall("get_weather", '{"city": "Paris", "days": 2}')
ROME = ToolCall("get_weather", '{"city": "Rome", "days": 2}')
TWO = [Message("user", "Q1"), Message("assistant", "", (PARIS, ROME)), Message("tool", "SUN"), Message("tool", "RAIN")]
ONE = [TWO[0], Message("assistant", "", (PARIS,)), TWO[2]]
CONTROL = ("<｜tool▁calls▁begin｜>", "<|tool_call|>", "[TOOL_CALLS]", "[ARGS]", "<|python_tag|>", "<|tool|>")
ARGS = PARIS.arguments
ROMAN = ROME.arguments


@dataclass(frozen=True, slots=True)
class Case:
    """A template, the name of its format, the parts that Ebb writes, and the history from the question on.

    is_prefix: the prompt of the first answer is a prefix of the next one.
    control: the control tokens that the texts contain.
    """

    template: str
    name: str
    by_ebb: set[str]
    said: list[Message]
    history: str
    is_prefix: bool = True
    control: tuple[str, ...] = CONTROL


CASES = {
    "llama3": Case(
        templates.LLAMA3,
        "llama3",
        set(),
        ONE,
        "Q1<|eot_id|><|start_header_id|>assistant<|end_header_id|>\n\n"
        f'{{"name": "get_weather", "parameters": {ARGS}}}<|eot_id|><|start_header_id|>ipython<|end_header_id|>\n\n'
        '"SUN"<|eot_id|><|start_header_id|>assistant<|end_header_id|>\n\n',
    ),
    "ministral": Case(
        mistral_templates.MISTRAL13,
        "mistral-v13",
        set(),
        TWO,
        f"Q1[/INST][TOOL_CALLS]get_weather[ARGS]{ARGS}[TOOL_CALLS]get_weather[ARGS]{ROMAN}<|im_end|>"
        "[TOOL_RESULTS]SUN[/TOOL_RESULTS][TOOL_RESULTS]RAIN[/TOOL_RESULTS]",
    ),
    "mistral-small": Case(
        mistral_templates.MISTRAL11,
        "mistral-v11",
        set(),
        TWO,
        f"Q1[/INST][TOOL_CALLS]get_weather[CALL_ID]000000000[ARGS]{ARGS}"
        f"[TOOL_CALLS]get_weather[CALL_ID]000000001[ARGS]{ROMAN}<|im_end|>"
        "[TOOL_RESULTS]000000000[TOOL_CONTENT]SUN[/TOOL_RESULTS]"
        "[TOOL_RESULTS]000000001[TOOL_CONTENT]RAIN[/TOOL_RESULTS]",
    ),
    "mistral-nemo": Case(
        mistral_templates.MISTRAL3,
        "mistral",
        set(),
        TWO,
        f'Q1[/INST][TOOL_CALLS][{{"name": "get_weather", "arguments": {ARGS}, "id": "000000000"}}, '
        f'{{"name": "get_weather", "arguments": {ROMAN}, "id": "000000001"}}]<|im_end|>'
        '[TOOL_RESULTS]{"content": SUN, "call_id": "000000000"}[/TOOL_RESULTS]'
        '[TOOL_RESULTS]{"content": RAIN, "call_id": "000000001"}[/TOOL_RESULTS]',
    ),
    "granite3": Case(
        templates.GRANITE3,
        "granite3",
        {"calls", "results"},
        TWO,
        "Q1<|end_of_text|>\n<|start_of_role|>assistant<|end_of_role|>"
        f'<|tool_call|>[{{"name": "get_weather", "arguments": {ARGS}}}, '
        f'{{"name": "get_weather", "arguments": {ROMAN}}}]'
        "<|end_of_text|>\n<|start_of_role|>tool<|end_of_role|>SUN<|end_of_text|>\n"
        "<|start_of_role|>tool<|end_of_role|>RAIN<|end_of_text|>\n<|start_of_role|>assistant<|end_of_role|>",
    ),
    "deepseek-v3": Case(
        templates.DEEPSEEK3,
        "deepseek-v3",
        {"tools"},
        TWO,
        "Q1<｜Assistant｜><｜tool▁calls▁begin｜>"
        f"<｜tool▁call▁begin｜>function<｜tool▁sep｜>get_weather\n```json\n{ARGS}\n```<｜tool▁call▁end｜>\n"
        f"<｜tool▁call▁begin｜>function<｜tool▁sep｜>get_weather\n```json\n{ROMAN}\n```<｜tool▁call▁end｜>"
        "<｜tool▁calls▁end｜><｜end▁of▁sentence｜><｜tool▁output▁begin｜>SUN<｜tool▁output▁end｜>"
        "<｜tool▁output▁begin｜>RAIN<｜tool▁output▁end｜><｜Assistant｜>",
    ),
    "deepseek-v3.1": Case(
        templates.DEEPSEEK31,
        "deepseek-v3.1",
        {"tools"},
        TWO,
        "Q1<｜Assistant｜><｜tool▁calls▁begin｜>"
        f"<｜tool▁call▁begin｜>get_weather<｜tool▁sep｜>{ARGS}<｜tool▁call▁end｜>"
        f"<｜tool▁call▁begin｜>get_weather<｜tool▁sep｜>{ROMAN}<｜tool▁call▁end｜>"
        "<｜tool▁calls▁end｜><｜end▁of▁sentence｜><｜tool▁output▁begin｜>SUN<｜tool▁output▁end｜>"
        "<｜tool▁output▁begin｜>RAIN<｜tool▁output▁end｜><｜Assistant｜>",
    ),
    "phi4-mini": Case(
        templates.PHI4_MINI,
        "phi4-mini",
        {"tools", "calls", "results"},
        TWO,
        f'Q1<|end|><|assistant|><|tool_call|>[{{"name": "get_weather", "arguments": {ARGS}}}, '
        f'{{"name": "get_weather", "arguments": {ROMAN}}}]<|/tool_call|><|end|>'
        "<|tool|>SUN<|end|><|tool|>RAIN<|end|><|assistant|>",
    ),
    "qwen3-coder": Case(
        templates.QWEN3_CODER,
        "qwen3-coder",
        set(),
        ONE,
        "Q1<|im_end|>\n<|im_start|>assistant\n<tool_call>\n<function=get_weather>\n<parameter=city>\nParis\n</parameter>\n"
        "<parameter=days>\n2\n</parameter>\n</function>\n</tool_call><|im_end|>\n<|im_start|>user\n<tool_response>\nSUN\n"
        "</tool_response>\n<|im_end|>\n<|im_start|>assistant\n",
    ),
    "hermes": Case(
        templates.HERMES,
        "hermes",
        set(),
        TWO,
        "Q1<|im_end|>\n<|im_start|>assistant\n"
        f'<tool_call>\n{{"name": "get_weather", "arguments": {ARGS}}}\n</tool_call>\n'
        f'<tool_call>\n{{"name": "get_weather", "arguments": {ROMAN}}}\n</tool_call><|im_end|>\n<|im_start|>user\n'
        "<tool_response>\nSUN\n</tool_response>\n<tool_response>\nRAIN\n</tool_response><|im_end|>\n"
        "<|im_start|>assistant\n",
    ),
    "granite4": Case(
        templates.GRANITE4,
        "hermes",
        set(),
        TWO,
        "Q1<|end_of_text|>\n<|start_of_role|>assistant<|end_of_role|>"
        f'<tool_call>\n{{"name": "get_weather", "arguments": {ARGS}}}\n</tool_call>\n'
        f'<tool_call>\n{{"name": "get_weather", "arguments": {ROMAN}}}\n</tool_call><|end_of_text|>\n'
        "<|start_of_role|>user<|end_of_role|>\n<tool_response>\nSUN\n</tool_response>\n"
        "<tool_response>\nRAIN\n</tool_response><|end_of_text|>\n<|start_of_role|>assistant<|end_of_role|>",
    ),
    "glm-4.6": Case(
        templates.GLM45,
        "glm-4.5",
        set(),
        TWO,
        "Q1<|assistant|>\n<think></think>\n<tool_call>get_weather\n<arg_key>city</arg_key>\n<arg_value>Paris</arg_value>\n"
        "<arg_key>days</arg_key>\n<arg_value>2</arg_value>\n</tool_call>\n<tool_call>get_weather\n<arg_key>city</arg_key>\n"
        "<arg_value>Rome</arg_value>\n<arg_key>days</arg_key>\n<arg_value>2</arg_value>\n</tool_call><|observation|>\n"
        "<tool_response>\nSUN\n</tool_response>\n<tool_response>\nRAIN\n</tool_response><|assistant|>",
    ),
    "glm-4.7": Case(
        templates.GLM47,
        "glm-4.7",
        set(),
        ONE,
        "Q1<|assistant|><think></think><tool_call>get_weather\n<arg_key>city</arg_key><arg_value>Paris</arg_value>"
        "<arg_key>days</arg_key><arg_value>2</arg_value></tool_call><|observation|>\n"
        "<tool_response>\nSUN\n</tool_response><|assistant|>",
    ),
    "kimi-k2": Case(
        templates.KIMI,
        "kimi-k2",
        set(),
        TWO,
        "Q1<|im_end|><|im_assistant|>assistant<|im_middle|><|tool_calls_section_begin|>"
        f"<|tool_call_begin|>functions.get_weather:0<|tool_call_argument_begin|>{ARGS}<|tool_call_end|>"
        f"<|tool_call_begin|>functions.get_weather:1<|tool_call_argument_begin|>{ROMAN}<|tool_call_end|>"
        "<|tool_calls_section_end|><|im_end|>"
        "<|im_system|>get_weather<|im_middle|>## Return of functions.get_weather:0\nSUN<|im_end|>"
        "<|im_system|>get_weather<|im_middle|>## Return of functions.get_weather:1\nRAIN<|im_end|>"
        "<|im_assistant|>assistant<|im_middle|>",
    ),
    "gemma4": Case(
        templates.GEMMA4,
        "gemma4",
        set(),
        TWO,
        'Q1<turn|>\n<|turn>model\n<|tool_call>call:get_weather{city:<|"|>Paris<|"|>,days:2}<tool_call|>'
        '<|tool_call>call:get_weather{city:<|"|>Rome<|"|>,days:2}<tool_call|>'
        '<|tool_response>response:get_weather{value:<|"|>SUN<|"|>}<tool_response|>'
        '<|tool_response>response:get_weather{value:<|"|>RAIN<|"|>}<tool_response|>',
        is_prefix=False,
    ),
    "olmo3": Case(
        templates.OLMO3,
        "olmo3",
        {"tools", "calls", "results"},
        TWO,
        "Q1<|im_end|>\n<|im_start|>assistant\n<function_calls>\n"
        'get_weather(city="Paris", days=2)\nget_weather(city="Rome", days=2)\n</function_calls><|im_end|>\n'
        "<|im_start|>environment\nSUN<|im_end|>\n<|im_start|>environment\nRAIN<|im_end|>\n"
        "<|im_start|>assistant\n<think>",
        is_prefix=False,
    ),
    "llama4": Case(
        templates.LLAMA4_JSON,
        "llama4",
        set(),
        ONE,
        "Q1<|eot|><|header_start|>assistant<|header_end|>\n\n"
        f'{{"name": "get_weather", "parameters": {ARGS}}}<|eot|><|header_start|>ipython<|header_end|>\n\n'
        '"SUN"<|eot|><|header_start|>assistant<|header_end|>\n\n',
    ),
    "phi4-mini-functools": Case(
        templates.PHI4_FUNCTOOLS,
        "phi4-mini-functools",
        set(),
        TWO,
        f'Q1<|end|><|assistant|>functools[{{"name": "get_weather", "arguments": {ARGS}}}, '
        f'{{"name": "get_weather", "arguments": {ROMAN}}}]<|end|>'
        "<|tool_response|>SUN<|end|><|tool_response|>RAIN<|end|><|assistant|>",
    ),
    "openpangu": Case(
        OPENPANGU,
        "openpangu",
        {"tools", "calls"},
        TWO,
        f'Q1[unused10][unused9]助手：[unused11][{{"name":"get_weather","arguments":{ARGS}}},'
        f'{{"name":"get_weather","arguments":{ROMAN}}}][unused12][unused10]'
        "[unused9]工具：SUN[unused10][unused9]工具：RAIN[unused10][unused9]助手：",
        control=("[unused9]", "[unused10]", "[unused11]", "[unused12]"),
    ),
    "llama4-pythonic": Case(
        templates.LLAMA4,
        "pythonic",
        {"calls"},
        TWO,
        "Q1<|eot|><|header_start|>assistant<|header_end|>\n\n"
        '[get_weather(city="Paris", days=2), get_weather(city="Rome", days=2)]<|eot|>'
        '<|header_start|>ipython<|header_end|>\n\n"SUN"<|eot|><|header_start|>ipython<|header_end|>\n\n"RAIN"<|eot|>'
        "<|header_start|>assistant<|header_end|>\n\n",
    ),
    "harmony": Case(
        templates.HARMONY,
        "harmony",
        set(),
        TWO,
        "Q1<|end|><|start|>assistant to=functions.get_weather<|channel|>commentary json<|message|>"
        f'{ARGS}<|call|><|start|>functions.get_weather to=assistant<|channel|>commentary<|message|>"SUN"<|end|>'
        "<|start|>assistant to=functions.get_weather<|channel|>commentary json<|message|>"
        f'{ROMAN}<|call|><|start|>functions.get_weather to=assistant<|channel|>commentary<|message|>"RAIN"<|end|>'
        "<|start|>assistant",
    ),
}
ONLY_PUBLISHED: Final = {
    "apertus": "Apertus-8B-Instruct",
    "apriel": "Apriel-1.6-15b-Thinker-fixed",
    "cohere": "Cohere2MoE",
    "deepseek-v3.2": "deepseek-ai-DeepSeek-V3.2",
    "deepseek-v4": "deepseek-ai-DeepSeek-V4",
    "functionary-v3.1": "meetkai-functionary-medium-v3.1",
    "gigachat3": "GigaChat3-10B-A1.8B",
    "gigachat3.1": "GigaChat3.1-10B-A1.8B",
    "hunyuan3": "tencent-Hy3",
    "minicpm5": "openbmb-MiniCPM5-1B",
    "lfm2": "lfm2_2_5_vl",
    "minimax-m1": "MiniMax-M1",
    "minimax-m2": "MiniMax-M2",
    "minimax-m3": "MiniMax-M3",
    "muse": "muse_glimmer",
    "nemotron2": "NVIDIA-Nemotron-Nano-v2",
    "seed-oss": "ByteDance-Seed-OSS",
    "solar": "upstage-Solar-Open-100B",
}
"""A template of each tool format that has no short one in `CASES`."""

each_case = pytest.mark.parametrize("case", CASES.values(), ids=list(CASES))


def make(path: Path, case: Case) -> tuple[Tokenizer, ChatFormat]:
    """Make the family's tokenizer, in which the marks of calls are control tokens."""
    library = byte_tokenizer()
    library.add_special_tokens([AddedToken(word, special=True, normalized=False) for word in case.control])
    library.save(str(path / "tokenizer.json"))
    (path / "config.json").write_text('{"bos_token_id": 1, "eos_token_id": 2}')
    (path / "tokenizer_config.json").write_text(json.dumps(TOKENIZER_CONFIG | {"chat_template": case.template}))
    tokenizer = Tokenizer.load(path)
    return tokenizer, ChatFormat.load(path, tokenizer)


def test_every_format_has_a_case() -> None:
    assert {case.name for case in CASES.values()} | set(ONLY_PUBLISHED) == set(NAMES)


@each_case
def test_format_and_its_parts_are_found_in_the_template(tmp_path: Path, case: Case) -> None:
    _, chat = make(tmp_path, case)
    assert (chat.tools.name, chat.tools.is_known) == (case.name, True)
    parts = chat.tools.template
    assert {part for part in ("tools", "calls", "results") if not getattr(parts, part)} == case.by_ebb


@each_case
def test_history_has_calls_as_the_family_writes_them(tmp_path: Path, case: Case) -> None:
    tokenizer, chat = make(tmp_path, case)
    text = tokenizer.describe(chat.render([TOOLS, *case.said]))
    assert text[text.index("Q1") :] == case.history
    assert text.count("get_weather") == 1 + case.history.count("get_weather")


@pytest.mark.parametrize(
    "case", [case for case in CASES.values() if case.name not in ("gemma4", "harmony")], ids=lambda case: case.name
)
def test_turn_after_a_call_continues_its_exact_tokens(tmp_path: Path, case: Case) -> None:
    tokenizer, chat = make(tmp_path, case)
    first = chat.render([TOOLS, *case.said[:1]])
    whole = chat.render([TOOLS, *case.said])
    text = tokenizer.describe(whole)
    text = text[len(tokenizer.describe(first)) if case.is_prefix else text.index("Q1") :]
    assert (whole[: len(first)] == first) == case.is_prefix
    results = len([message for message in case.said if message.role == "tool"])
    added = tokenizer.describe(chat.extend(first, [TOOLS, *case.said], num_new=results))
    call_text = text.removesuffix(added)
    assert call_text + added == text
    assert chat.tools.parser(tools=[TOOL["function"]]).whole(call_text).calls == case.said[1].tool_calls


@each_case
def test_marks_in_arguments_and_results_stay_text(tmp_path: Path, case: Case) -> None:
    tokenizer, chat = make(tmp_path, case)
    hostile = "[TOOL_CALLS]<|tool_call|><｜tool▁calls▁begin｜><|im_end|>"
    call = ToolCall("get_weather", json.dumps({"city": hostile}, ensure_ascii=False))
    calm = ToolCall("get_weather", '{"city": "x"}')
    ids, expected = (
        chat.render([TOOLS, case.said[0], Message("assistant", "", (each,)), Message("tool", text)])
        for each, text in ((call, hostile), (calm, "x"))
    )
    control = set(tokenizer.control_tokens.values())
    assert [id_ for id_ in ids if id_ in control] == [id_ for id_ in expected if id_ in control]


def test_calls_are_split_where_the_template_takes_one(tmp_path: Path) -> None:
    tokenizer, chat = make(tmp_path, CASES["llama3"])
    text = tokenizer.describe(chat.render([TOOLS, *TWO, Message("assistant", "Wet."), Message("user", "So?")]))
    call, result = "assistant<|end_header_id|>\n\n{", "ipython<|end_header_id|>\n\n"
    begins = [text.index(part) for part in (call, f'{result}"SUN"', "Rome", f'{result}"RAIN"', "Wet.", "So?")]
    assert begins == sorted(begins)
    assert text.count(call) == 2
    extended = tokenizer.describe(chat.extend([5], [TOOLS, *TWO, Message("assistant", "Wet."), Message("user", "So?")]))
    assert text.endswith(extended)


@pytest.mark.parametrize("template", [templates.GEMMA2, templates.GEMMA3], ids=["gemma2", "gemma3"])
@pytest.mark.parametrize("name", [None, "pythonic"])
def test_tools_fit_templates_with_two_alternating_roles(tmp_path: Path, template: str, name: str | None) -> None:
    tokenizer, _ = make(tmp_path, Case(template, "hermes", set(), TWO, ""))
    chat = ChatFormat.load(tmp_path, tokenizer, name)
    asked = [TOOLS, Message("system", "Be brief."), *TWO, Message("user", "So?")]
    first, text = (tokenizer.describe(chat.render(messages)) for messages in (asked[:3], asked))
    assert first.split("<start_of_turn>")[1].startswith("user\nBe brief.\n\n# Tools")
    assert first.endswith("Q1<end_of_turn>\n<start_of_turn>model\n")
    assert text.startswith(first)
    results = "<tool_response>\nSUN\n</tool_response>\n<tool_response>\nRAIN\n</tool_response>\nSo?<end_of_turn>\n"
    assert text.endswith(f"<start_of_turn>user\n{results}<start_of_turn>model\n")
    call = '[get_weather(city="Paris", days=2), get_weather(city="Rome", days=2)]'
    assert (call in text) == (name == "pythonic")
    assert text.endswith(tokenizer.describe(chat.extend([5], asked, num_new=3)))


def test_system_message_without_a_question_is_one(tmp_path: Path) -> None:
    tokenizer, chat = make(tmp_path, Case(templates.GEMMA2, "hermes", set(), TWO, ""))
    text = tokenizer.describe(chat.render([Message("system", "Greet me.")]))
    assert text.endswith("user\nGreet me.<end_of_turn>\n<start_of_turn>model\n")


@pytest.mark.parametrize("name", ["gemma4", "harmony"])
def test_turn_that_continues_after_a_call_is_rendered_again(tmp_path: Path, name: str) -> None:
    _, chat = make(tmp_path, CASES[name])
    with pytest.raises(ChatFormatError, match="only after calls"):
        chat.extend([5], [TOOLS, *TWO], num_new=2)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("mistral-small", "[TOOL_CALLS]get_weather[CALL_ID]abc123def[ARGS]{}[TOOL_CALLS]now[CALL_ID]abc123deg[ARGS]{}"),
        (
            "mistral-nemo",
            '[TOOL_CALLS][{"name": "get_weather", "arguments": {}, "id": "abc123def"}, '
            '{"name": "now", "arguments": {}, "id": "abc123deg"}]',
        ),
    ],
)
def test_results_have_the_ids_that_the_model_wrote(tmp_path: Path, name: str, said: str) -> None:
    tokenizer, chat = make(tmp_path, CASES[name])
    history = [TWO[0], Message("assistant", "", (ToolCall("get_weather", "{}"), ToolCall("now", "{}"))), *TWO[2:]]
    prior = chat.render([TOOLS, TWO[0]]) + tokenizer.encode(said, special=True)
    text = tokenizer.describe(chat.extend(prior, [TOOLS, *history], num_new=2))
    first, second = text.split("[/TOOL_RESULTS]")[:2]
    assert "SUN" in first
    assert "abc123def" in first
    assert "RAIN" in second
    assert "abc123deg" in second
    assert "000000000" not in text
    forgotten = tokenizer.describe(chat.extend([5], [TOOLS, *history], num_new=2))
    assert "000000001" in forgotten


def test_unknown_format_is_described_by_ebb(tmp_path: Path) -> None:
    unknown = Case(templates.HERMES.replace("tool_call>", "strange>"), "hermes", set(), TWO, "")
    tokenizer, chat = make(tmp_path, unknown)
    assert (chat.tools.name, chat.tools.is_known) == ("hermes", False)
    text = tokenizer.describe(chat.render([TOOLS, *TWO]))
    assert "<strange>" not in text
    assert '<tool_call>\n{"name":"get_weather"' in text


def test_named_format_replaces_that_of_the_template(tmp_path: Path) -> None:
    tokenizer, _ = make(tmp_path, CASES["hermes"])
    chat = ChatFormat.load(tmp_path, tokenizer, "granite3")
    text = tokenizer.describe(chat.render([TOOLS, *TWO]))
    assert "<|tool_call|>[{" in text
    assert "<tool_call>" not in text
