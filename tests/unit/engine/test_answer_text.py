import pytest

from engine.answer_text import AnswerFormat
from models.thinking import Thinking

BEGIN, END, OTHER = 100, 101, 102
PIECES = {1: b" a", 2: b"b", 3: b" c", 4: "é".encode()[:1], 5: "é".encode()[1:], BEGIN: b"", END: b"", OTHER: b""}
THINKING = Thinking(BEGIN, END, {"slow": ""})


def texts(answers: AnswerFormat, prompt: list[int], ids: list[int]) -> tuple[str, str]:
    """Return the reasoning and the answer as texts."""
    answer = answers.begin(prompt)
    pieces = [answer.push(id_) for id_ in ids]
    thought = "".join(piece.text for piece in pieces if piece.is_thought)
    return thought, "".join(piece.text for piece in pieces if not piece.is_thought)


def test_without_thinking_all_text_is_answer() -> None:
    assert texts(AnswerFormat(PIECES.__getitem__), [1], [BEGIN, 1, 2, END, 3]) == ("", " ab c")


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
    assert texts(AnswerFormat(PIECES.__getitem__, drops_first_space=True, thinking=THINKING), prompt, ids) == expected


def test_incomplete_character_of_reasoning_is_never_shown() -> None:
    answers = AnswerFormat(PIECES.__getitem__, thinking=THINKING)
    assert texts(answers, [], [BEGIN, 4, END, 5, 2, 4, 5]) == ("", "�bé")


def test_reasoning_tokens_are_counted_without_marks() -> None:
    answer = AnswerFormat(PIECES.__getitem__, thinking=THINKING).begin([])
    for id_ in (BEGIN, 1, 2, END, 3):
        answer.push(id_)
    assert answer.num_thought == 2


def test_control_tokens_are_shown_by_name_on_request() -> None:
    answers = AnswerFormat(PIECES.__getitem__, thinking=THINKING, describe=lambda ids: f"<{ids[0]}>")
    answer = answers.begin([1], skip_special=False)
    said = [answer.push(id_) for id_ in (BEGIN, 1, END, 3, OTHER, 2)]
    assert "".join(piece.text for piece in said if not piece.is_thought) == " c<102>b"
