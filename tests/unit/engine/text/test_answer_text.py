import json
from dataclasses import replace

import pytest
from tokenizers import AddedToken

from engine.text.answer_text import AnswerFormat, EmittedText
from models.chat.harmony_thinking import find_harmony_thinking
from models.chat.written_thinking import APRIEL, GRANITE32, GRANITE33, TAGS, WrittenThinking
from models.thinking import MarkedThinking
from models.tokenizers.tokenizer import Tokenizer
from tests.tiny_tokenizer import byte_tokenizer

BEGIN, END, OTHER = 100, 101, 102
PIECES = {1: b" a", 2: b"b", 3: b" c", 4: "é".encode()[:1], 5: "é".encode()[1:], BEGIN: b"", END: b"", OTHER: b""}
THINKING = MarkedThinking(BEGIN, END, {"slow": ""})


def texts(answers: AnswerFormat, prompt: list[int], ids: list[int]) -> tuple[str, str]:
    """Return the reasoning and the answer as texts."""
    answer = answers.begin(prompt)
    pieces = [answer.push(id_) for id_ in ids]
    thought = "".join(piece.text for piece in pieces if piece.is_thought)
    return thought, "".join(piece.text for piece in pieces if not piece.is_thought)


def test_without_thinking_all_text_is_answer() -> None:
    assert texts(AnswerFormat(token_bytes=PIECES.__getitem__), [1], [BEGIN, 1, 2, END, 3]) == ("", " ab c")


@pytest.mark.parametrize(
    ("prompt", "ids", "expected"),
    [
        ([1], [BEGIN, 1, 2, END, 3], ("ab", "c")),
        ([1], [BEGIN, END, 3], ("", "c")),
        ([1], [3], ("", " c")),
        ([OTHER], [3, 3], ("", "c c")),
        ([1, BEGIN], [1, END, 3], ("a", "c")),
        ([1], [BEGIN, 1], ("a", "")),
        ([1], [2, OTHER, 1], ("", "ba")),
    ],
)
def test_space_after_control_token_is_dropped(prompt: list[int], ids: list[int], expected: tuple[str, str]) -> None:
    assert (
        texts(AnswerFormat(token_bytes=PIECES.__getitem__, drops_first_space=True, thinking=THINKING), prompt, ids)
        == expected
    )


def test_incomplete_character_of_reasoning_is_never_shown() -> None:
    answers = AnswerFormat(token_bytes=PIECES.__getitem__, thinking=THINKING)
    assert texts(answers, [], [BEGIN, 4, END, 5, 2, 4, 5]) == ("", "�bé")


def test_reasoning_tokens_are_counted_without_marks() -> None:
    answer = AnswerFormat(token_bytes=PIECES.__getitem__, thinking=THINKING).begin([])
    for id_ in (BEGIN, 1, 2, END, 3):
        answer.push(id_)
    assert answer.num_thought == 2


GRANITE = WrittenThinking(GRANITE33, {"slow": ""}, lambda ids: bytes(ids).decode(), lambda text: list(text.encode()))


def written(text: str, thinking: WrittenThinking = GRANITE, prompt: str = "Q:") -> tuple[str, str]:
    """Return the reasoning and the answer in an answer of one token per byte, whichever way it is read."""
    answer = AnswerFormat(token_bytes=lambda id_: bytes([id_]), thinking=thinking).begin(list(prompt.encode()))
    said = [*map(answer.push, text.encode()), answer.finish()]
    ends = [answer.finish()]
    assert ends == [EmittedText()]
    splitter = thinking.splitter(list(prompt.encode()))
    whole = [*splitter.push(text), *splitter.finish()]
    thought, rest = ("".join(piece.text for piece in said if piece.is_thought is kind) for kind in (True, False))
    assert (thought, rest) == tuple("".join(part for part, is_one in whole if is_one is kind) for kind in (True, False))
    return thought, rest


@pytest.mark.parametrize(
    ("text", "thought", "rest"),
    [
        ("<think>so</think><response>Yes.</response>", "so", "Yes."),
        ("\n<think>a < b</think>\n<response>1 < 2 <response></response>\n", "a < b", "1 < 2 <response>\n"),
        ("<think>so</think>Yes. </response>", "so", "Yes. </response>"),
        ("<think>so</thi", "so</thi", ""),
        ("<think", "", "<think"),
        ("Use <think> and </think>.", "", "Use <think> and </think>."),
        ("<thinking>x", "", "<thinking>x"),
        ("<think></think>", "", ""),
        ("<think>so</think><respond", "so", "<respond"),
        ("", "", ""),
    ],
)
def test_reasoning_between_words_is_apart(text: str, thought: str, rest: str) -> None:
    assert written(text) == (thought, rest)


def test_reasoning_that_the_prompt_opens_in_words_is_apart() -> None:
    olmo = replace(GRANITE, marks=TAGS)
    assert written("so</think>\nYes.", olmo, "assistant\n<think>\n") == ("so", "\nYes.")
    assert written("so <b", olmo, "<think>x") == ("", "so <b")
    assert written("so\n[BEGIN FINAL RESPONSE]\nYes.", replace(GRANITE, marks=APRIEL), f"{APRIEL.starts[0]}\n") == (
        "so\n",
        "\nYes.",
    )
    words = replace(GRANITE, marks=GRANITE32)
    said = "Here's my thought process:\nso\nHere is my response: Yes."
    assert written(said, words) == ("\nso\n", " Yes.")


def test_token_may_end_reasoning_and_begin_the_answer() -> None:
    pieces = {1: b"<think>so", 2: b"</think>Yes", 3: b"."}
    answer = AnswerFormat(token_bytes=pieces.__getitem__, thinking=replace(GRANITE, marks=TAGS)).begin([])
    said = [*map(answer.push, (1, 2, 3)), answer.finish()]
    assert said == [EmittedText("so", is_thought=True), EmittedText("Yes"), EmittedText("."), EmittedText()]
    assert answer.num_thought == 1


QWEN = MarkedThinking(0, 1, {"slow": ""})


def qwen(text: str, *, may_call: bool = True) -> tuple[str, str]:
    """Return the reasoning and the answer, of one token per byte, after a prompt that opens the reasoning."""
    answers = AnswerFormat(
        token_bytes=lambda id_: bytes([id_]) if id_ > 1 else b"",
        thinking=QWEN,
        call_words=("<tool_call>", "{", '"name"'),
    )
    answer = answers.begin([9, 0], may_call=may_call)
    said = [*map(answer.push, text.encode()), answer.finish()]
    thought, rest = ("".join(piece.text for piece in said if piece.is_thought is kind) for kind in (True, False))
    return thought, rest


@pytest.mark.parametrize(
    ("text", "thought", "rest"),
    [
        ('so\n<tool_call>\n{"name": "f"}</tool_call>', "so\n", '<tool_call>\n{"name": "f"}</tool_call>'),
        ('the <tool_call> mark, <tool_call>{ "name"', "the <tool_call> mark, ", '<tool_call>{ "name"'),
        ('<tool_call>{"name\x01Yes', '<tool_call>{"name', "Yes"),
        ("so <tool_\x01<tool_call>", "so <tool_", "<tool_call>"),
        ("so <tool_call", "so <tool_call", ""),
        ("<<tool_call>\n\n<tool_call>", "<<tool_call>\n\n<tool_call>", ""),
        ('<tool_call>{"name"\x01x', "", '<tool_call>{"name"x'),
    ],
)
def test_call_ends_reasoning_that_was_not_closed(text: str, thought: str, rest: str) -> None:
    assert qwen(text) == (thought, rest)


def test_forced_answer_has_no_call_within_its_reasoning() -> None:
    call = '<tool_call>{"name"'
    assert qwen(f"{call}\x01{call}", may_call=False) == (call, call)


def test_headers_of_channels_are_left_out() -> None:
    library = byte_tokenizer()
    words = ("<|start|>", "<|channel|>", "<|message|>", "<|end|>", "<|call|>")
    library.add_special_tokens([AddedToken(word, special=True, normalized=False) for word in words])
    tokenizer = Tokenizer(json.loads(library.to_str()), bos_token_id=None, eos_token_ids=())
    answers = AnswerFormat(token_bytes=tokenizer.token_bytes, thinking=find_harmony_thinking("<|channel|>", tokenizer))
    answer = answers.begin(tokenizer.encode("<|start|>assistant", special=True))
    text = "<|channel|>analysis<|message|>so é<|end|><|start|>assistant<|channel|>final<|message|>Yes"
    said = [*map(answer.push, tokenizer.encode(text, special=True)), answer.finish()]
    assert "".join(piece.text for piece in said if piece.is_thought) == "so é"
    assert "".join(piece.text for piece in said if not piece.is_thought) == "Yes"
    assert answer.num_thought == len("so é".encode())


def test_header_of_reasoning_is_left_out() -> None:
    header = replace(THINKING, header="bb")
    assert texts(AnswerFormat(token_bytes=PIECES.__getitem__, thinking=header), [], [BEGIN, 2, 2, 2, 3, END, 2]) == (
        "b c",
        "b",
    )
    assert texts(AnswerFormat(token_bytes=PIECES.__getitem__, thinking=header), [], [BEGIN, 2, 3, END, BEGIN, 2]) == (
        "b c",
        "",
    )


def test_control_tokens_are_shown_by_name_on_request() -> None:
    answers = AnswerFormat(token_bytes=PIECES.__getitem__, thinking=THINKING, describe=lambda ids: f"<{ids[0]}>")
    answer = answers.begin([1], skip_special=False)
    said = [answer.push(id_) for id_ in (BEGIN, 1, END, 3, OTHER, 2)]
    assert "".join(piece.text for piece in said if not piece.is_thought) == " c<102>b"
