import pytest

from app.domain.titles import title_by_model, title_from


def test_short_first_message_becomes_title_on_one_line() -> None:
    assert title_from("  What is\n\ta tide? ") == "What is a tide?"


def test_long_first_message_is_cut_between_words() -> None:
    title = title_from("word " * 40)
    assert len(title) <= 60
    assert title.endswith("word…")


def test_title_has_name_of_a_file_only_where_nothing_is_typed() -> None:
    assert title_from('Which day?\n\n<file name="log.csv">\na,b\n</file>\n\n<file name="b">\n</file>') == "Which day?"
    assert title_from('<file name="log.csv">\na,b\n</file>') == "log.csv"


def test_word_longer_than_title_is_cut() -> None:
    assert title_from("x" * 200) == "x" * 59 + "…"


@pytest.mark.parametrize(
    ("answer", "title"),
    [
        ("Tides and the Moon", "Tides and the Moon"),
        ("  Tides and the Moon.\nIt says", "Tides and the Moon"),
        ("“Tides  and the Moon.”", "Tides and the Moon"),
        ("**Tides**", "Tides"),
        ("# Tides\n", "Tides"),
    ],
)
def test_title_by_model_is_one_line_without_decoration(answer: str, title: str) -> None:
    assert title_by_model(answer, "What is a tide?") == title


@pytest.mark.parametrize(
    ("question", "title"),
    [
        ("How should I prepare for it?", "Interview preparation"),
        ("日本の首都はどこですか", "日本の首都"),
        ("한국의 수도는 어디입니까", "한국의 수도"),
        ("Какая столица Франции?", "Столица Франции"),
    ],
)
def test_title_shares_a_word_with_question_in_any_script(question: str, title: str) -> None:
    assert title_by_model(title, question) == title


@pytest.mark.parametrize("answer", ["", "\n", '""', "...", "tide " * 9, "tide" * 16, "The Conversation", "At Most"])
def test_unsuitable_or_unrelated_title_is_none(answer: str) -> None:
    assert title_by_model(answer, "What is a tide?") is None
