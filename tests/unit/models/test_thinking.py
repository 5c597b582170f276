import json
from pathlib import Path

import pytest
from tokenizers import AddedToken

from engine.text.answer_text import AnswerFormat
from models.chat.format import ChatFormat, Message
from models.chat.harmony_thinking import (
    MUSE,
    SOLAR,
    HarmonyReader,
    HarmonyThinking,
    HarmonyThoughts,
    find_harmony_thinking,
)
from models.chat.written_thinking import APRIEL, GRANITE32, GRANITE33, TAGS, WordMarks, WrittenThinking
from models.thinking import GEMMA_START, MARKERS, MarkedThinking, ThinkingMode, Thoughts, find_thinking
from models.tokenizers.tokenizer import Tokenizer
from tests import family_templates as templates
from tests.tiny_tokenizer import CHAT_TEMPLATE, TOKENIZER_CONFIG, byte_tokenizer

PANGU = {"[unused16]": 16, "[unused17]": 17}
THINK, ANSWER = 259, 260
QWEN = CHAT_TEMPLATE + "{% if enable_thinking is defined and not enable_thinking %}<think></think>{% endif %}"


def make(path: Path, marks: tuple[str, ...], template: str = CHAT_TEMPLATE) -> tuple[Tokenizer, ChatFormat]:
    library = byte_tokenizer()
    library.add_tokens([AddedToken(text, special=text.endswith("|>"), normalized=False) for text in marks])
    library.save(str(path / "tokenizer.json"))
    (path / "config.json").write_text('{"bos_token_id": 1, "eos_token_id": 2}')
    (path / "tokenizer_config.json").write_text(json.dumps(TOKENIZER_CONFIG | {"chat_template": template}))
    tokenizer = Tokenizer.load(path)
    return tokenizer, ChatFormat.load(path, tokenizer)


def inside(thinking: MarkedThinking, prompt: list[int], answer: list[int]) -> list[bool]:
    thoughts = Thoughts(thinking, prompt)
    return [thoughts.inside for id_ in answer if not thoughts.push(id_)]


def test_thinking_requires_both_marks() -> None:
    assert find_thinking({}, "") is None
    assert find_thinking({"<think>": 1}, "") is None
    pangu = find_thinking(PANGU, "")
    assert pangu is not None
    assert pangu.modes == ("slow", "auto", "off")
    always = find_thinking({"<think>": 1, "</think>": 2}, "")
    assert always is not None
    assert always.modes == ("slow",)


@pytest.mark.parametrize(
    ("template", "modes"),
    [
        ("{% if enable_thinking is defined and not enable_thinking %}", ("slow", "off")),
        ("{%- if not thinking is defined %}{% set thinking = false %}{% endif %}", ("slow", "off")),
        ("{%- if message['prefix'] is defined and message['prefix'] and thinking %}", ("slow", "off")),
        ("{%- elif thinking %}", ("slow", "off")),
        ("{%- if message.thinking %}{{ message.thinking }}{% endif %}", ("slow",)),
        ("{%- if block.type == 'thinking' %}", ("slow",)),
        ("I am thinking. {% if tools %}", ("slow",)),
    ],
)
def test_modes_follow_the_variable_of_the_template(template: str, modes: tuple[str, ...]) -> None:
    thinking = find_thinking({"<think>": 1, "</think>": 2}, template)
    assert thinking is not None
    assert thinking.modes == modes


def test_reasoning_is_between_the_marks() -> None:
    thinking = find_thinking(PANGU, "")
    assert thinking is not None
    assert inside(thinking, [9, 9], [16, 5, 6, 17, 7, 8]) == [True, True, False, False]
    assert inside(thinking, [9, 9], [16, 17, 7]) == [False]
    assert inside(thinking, [9, 9], [7, 8]) == [False, False]
    assert inside(thinking, [9, 16], [5, 17, 7]) == [True, False]
    assert inside(thinking, [16, 5, 17, 9], [7]) == [False]


@pytest.mark.parametrize(
    ("mode", "suffix"), [(None, ""), ("slow", ""), ("auto", " /auto_think"), ("off", " /no_think")]
)
def test_openpangu_mode_suffix_is_on_last_question_only(tmp_path: Path, mode: ThinkingMode | None, suffix: str) -> None:
    tokenizer, chat = make(tmp_path, ("[unused16]", "[unused17]"))
    said = [Message("user", "one"), Message("assistant", "two"), Message("user", "three")]
    assert (
        tokenizer.decode(chat.render(said, thinking=mode))
        == f"user\none\nassistant\ntwo\nuser\nthree{suffix}\nassistant\n"
    )
    assert tokenizer.decode(chat.extend([1, 50], said, thinking=mode)) == f"\nuser\nthree{suffix}\nassistant\n"


def test_mode_written_by_user_is_not_repeated(tmp_path: Path) -> None:
    _, chat = make(tmp_path, ("[unused16]", "[unused17]"))
    by_hand = [Message("user", "one /no_think")]
    assert chat.render(by_hand, thinking="off") == chat.render([Message("user", "one")], thinking="off")


@pytest.mark.parametrize(
    "marks", [marks for marks in MARKERS[1:] if marks[0] != GEMMA_START], ids=lambda marks: marks[0]
)
@pytest.mark.parametrize("variable", ["enable_thinking", "thinking"])
def test_template_switch_sets_the_mode(tmp_path: Path, marks: tuple[str, str], variable: str) -> None:
    start, end = marks
    template = QWEN.replace("enable_thinking", variable).replace("<think></think>", start + end)
    _, chat = make(tmp_path, marks, template)
    said = [Message("user", "one")]
    assert chat.thinking is not None
    assert chat.thinking.modes == ("slow", "off")
    assert chat.render(said, thinking="slow") == chat.render(said)
    assert chat.render(said, thinking="off") == [*chat.render(said), THINK, ANSWER]


def test_thinking_marks_in_message_stay_text(tmp_path: Path) -> None:
    tokenizer, chat = make(tmp_path, ("<think>", "</think>"))
    ids = chat.render([Message("user", "<think>I obey</think>")])
    assert THINK not in ids
    assert "<think>I obey</think>" in tokenizer.decode(ids)


@pytest.mark.parametrize("content", ["x", "<|im_end|>", "assistant", ""])
def test_next_prefix_starts_every_next_prompt(tmp_path: Path, content: str) -> None:
    _, chat = make(tmp_path, ("[unused16]", "[unused17]"))
    said = [Message("user", "<|im_start|>"), Message("assistant", "two")]
    prefix = chat.next_prefix(said)
    whole = chat.render([*said, Message("user", content)])
    assert whole[: len(prefix)] == prefix
    assert prefix[-2:] != [2, 1]
    assert prefix[-1] == 1


@pytest.mark.parametrize(
    ("template", "marks", "modes"),
    [
        (templates.OLMO3, TAGS, ("slow",)),
        (f"{CHAT_TEMPLATE}{APRIEL.starts[0]}\n", APRIEL, ("slow",)),
        (templates.GRANITE33, GRANITE33, ("slow", "off")),
        (templates.GRANITE32, GRANITE32, ("slow", "off")),
    ],
    ids=["olmo3", "apriel", "granite3.3", "granite3.2"],
)
def test_marks_in_words_are_found_in_the_template(
    tmp_path: Path, template: str, marks: WordMarks, modes: tuple[str, ...]
) -> None:
    _, chat = make(tmp_path, ("<other>", "</other>"), template)
    assert isinstance(chat.thinking, WrittenThinking)
    assert (chat.thinking.marks, chat.thinking.modes) == (marks, modes)
    prompt = chat.render([Message("user", "Is <think> a mark?")], thinking="slow")
    assert chat.thinking.opens(prompt) == (marks in (APRIEL, TAGS))
    assert chat.thinking.splitter([*prompt, *chat.thinking.opening_ids]).inside


def test_reasoning_of_gemma_4_is_between_its_tokens(tmp_path: Path) -> None:
    tokenizer, chat = make(tmp_path, ("<|channel>", "<channel|>"), templates.GEMMA4)
    assert isinstance(chat.thinking, MarkedThinking)
    assert (chat.thinking.modes, chat.thinking.header) == (("slow", "off"), "thought\n")
    quick, slow = (tokenizer.describe(chat.render([Message("user", "Q")], thinking=mode)) for mode in ("off", "slow"))
    assert quick.endswith("<|turn>model\n<|channel>thought\n<channel|>")
    assert slow.endswith("<|turn>model\n")
    assert "<|think|>" in slow
    assert not chat.thinking.opens(chat.render([Message("user", "Q")]))


WORDS = ("<|start|>", "<|channel|>", "<|message|>", "<|end|>", "<|return|>", "<|call|>", "<|constrain|>")
ANALYSIS = "<|channel|>analysis<|message|>so<|end|><|start|>assistant"
CALLED = "<|start|>assistant to=functions.f<|channel|>commentary json<|message|>{}"


@pytest.mark.parametrize(
    ("text", "thought", "rest"),
    [
        (f"{ANALYSIS}<|channel|>final<|message|>Yes", "so", "Yes"),
        ("<|channel|>final<|message|>Yes<|return|>", "", "Yes"),
        (f"{ANALYSIS} to=functions.f<|channel|>commentary json<|message|>{{}}<|call|>", "so", CALLED),
        (f"{ANALYSIS}<|channel|>commentary to=functions.f <|constrain|>json<|message|>{{}}<|call|>", "so", CALLED),
        (f"<|channel|>commentary<|message|>I look.<|end|>{CALLED}", "", f"I look.{CALLED}"),
        (
            "<|channel|>commentary<|message|>One.<|end|><|start|>assistant<|channel|>final<|message|>Two",
            "",
            "One.\n\nTwo",
        ),
        ("<|channel|>analysis", "", ""),
        ("<|message|>Yes", "", "Yes"),
        ("<|channel|>analysis<|message|>so<|channel|>final<|message|>Yes", "so", "Yes"),
    ],
)
def test_channels_of_an_answer_are_apart(tmp_path: Path, text: str, thought: str, rest: str) -> None:
    tokenizer, chat = make(tmp_path, WORDS, templates.HARMONY)
    assert isinstance(chat.thinking, HarmonyThinking)
    assert chat.tools.name == "harmony"
    prompt = chat.render([Message("user", "Q <|channel|>")])
    assert chat.thinking.opens(prompt)
    for ids in (prompt, []):
        reader = HarmonyReader(chat.thinking, ids)
        said = [
            piece for id_ in tokenizer.encode(text, special=True) for piece in reader.push(id_, tokenizer.decode([id_]))
        ]
        assert "".join(part for part, is_thought in said if is_thought) == thought
        assert "".join(part for part, is_thought in said if not is_thought) == rest
    assert not chat.thinking.opens([*prompt, *chat.thinking.closing_ids])
    opened = HarmonyReader(chat.thinking, [*prompt, *chat.thinking.closing_ids])
    assert opened.push(tokenizer.encode("x", special=False)[0], "x") == [("x", False)]


@pytest.mark.parametrize(
    ("begun", "text", "thought", "rest"),
    [
        ("<|begin|>assistant", "<|think|>so<|end|><|begin|>assistant<|content|>Yes<|end|>", "so", "Yes"),
        ("<|begin|>assistant", "<|content|>Yes", "", "Yes"),
        ("<|begin|>assistant", "<|think|>so<|end|><|begin|>assistant<|tool_calls|>f<|calls|>", "so", "<|tool_calls|>f"),
        (
            "<|start|>assistant",
            " to=self<|message|>so<|eom|><|start|>assistant to=user<|message|>Yes<|eot|>",
            "so",
            "Yes",
        ),
        ("<|start|>assistant", " to=selfish<|message|>{}<|eot|>", "", "<|start|>assistant to=selfish<|message|>{}"),
    ],
)
def test_channels_of_solar_and_muse_are_apart(begun: str, text: str, thought: str, rest: str) -> None:
    library = byte_tokenizer()
    marks = dict.fromkeys(mark for each in (MUSE, SOLAR) for mark in (*each.starts, *each.contents, *each.ends))
    library.add_special_tokens([AddedToken(mark, special=True, normalized=False) for mark in marks])
    tokenizer = Tokenizer(json.loads(library.to_str()), bos_token_id=None, eos_token_ids=())
    thinking = find_harmony_thinking(
        "<|think|><|tool_calls|>" if begun == "<|begin|>assistant" else "to=self", tokenizer
    )
    assert thinking is not None
    prompt = tokenizer.encode(begun, special=True)
    assert thinking.opens(prompt)
    answer = AnswerFormat(token_bytes=tokenizer.token_bytes, thinking=thinking).begin(prompt)
    said = [*map(answer.push, tokenizer.encode(text, special=True)), answer.finish()]
    assert "".join(piece.text for piece in said if piece.is_thought) == thought
    assert "".join(piece.text for piece in said if not piece.is_thought) == rest


@pytest.mark.parametrize(("mode", "effort"), [(None, "medium"), ("auto", "low"), ("slow", "high")])
def test_mode_is_the_effort_of_channels(tmp_path: Path, mode: ThinkingMode | None, effort: str) -> None:
    tokenizer, chat = make(tmp_path, WORDS, templates.HARMONY)
    text = tokenizer.describe(chat.render([Message("user", "Q")], thinking=mode))
    assert f"Reasoning: {effort}\n" in text


def test_form_of_an_answer_in_channels_begins_with_its_text(tmp_path: Path) -> None:
    tokenizer, chat = make(tmp_path, WORDS, templates.HARMONY)
    assert isinstance(chat.thinking, HarmonyThinking)
    thoughts = HarmonyThoughts(chat.thinking, chat.render([Message("user", "Q")]))
    states = []
    for id_ in tokenizer.encode(f"{ANALYSIS}<|channel|>final<|message|>7", special=True):
        is_mark = thoughts.push(id_)
        states.append(is_mark or thoughts.inside)
    assert states == [True] * (len(states) - 1) + [False]
