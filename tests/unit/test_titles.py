from app.titles import title_from


def test_a_short_first_message_is_the_title_on_one_line() -> None:
    assert title_from("  What is\n\ta tide? ") == "What is a tide?"


def test_a_long_first_message_is_cut_between_words_at_sixty_characters() -> None:
    title = title_from("word " * 40)
    assert len(title) <= 60
    assert title.endswith("word…")


def test_a_word_longer_than_a_title_is_cut_inside() -> None:
    assert title_from("x" * 200) == "x" * 59 + "…"
