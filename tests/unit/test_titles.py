import pytest

from app.titles import title_by_model, title_from


def test_a_short_first_message_is_the_title_on_one_line() -> None:
    assert title_from("  What is\n\ta tide? ") == "What is a tide?"


def test_a_long_first_message_is_cut_between_words_at_sixty_characters() -> None:
    title = title_from("word " * 40)
    assert len(title) <= 60
    assert title.endswith("word…")


def test_of_files_in_the_first_message_only_a_name_is_in_the_title() -> None:
    assert (
        title_from('Which day?\n\n<file name="log.csv">\na,b\n</file>\n\n<file name="b">\n</file>')
        == "Which day? log.csv"
    )
    assert title_from('<file name="log.csv">\na,b\n</file>') == "log.csv"


def test_a_word_longer_than_a_title_is_cut_inside() -> None:
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
def test_a_title_of_the_model_is_one_line_without_what_stands_around_it(answer: str, title: str) -> None:
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
def test_a_title_has_a_word_of_the_question_in_any_script(question: str, title: str) -> None:
    assert title_by_model(title, question) == title


@pytest.mark.parametrize("answer", ["", "\n", '""', "...", "tide " * 9, "tide" * 16, "The Conversation", "At Most"])
def test_what_is_no_title_or_of_something_else_is_none(answer: str) -> None:
    assert title_by_model(answer, "What is a tide?") is None
