from app.titles import title_from
from app.token_history import MessageTokens, joined_ids, pack_ids, prompt_key, unpack_ids

KEY = prompt_key("model", None)


def tokens(*ids: int, starts: bool = False, key: str = KEY) -> MessageTokens:
    return MessageTokens(pack_ids(ids), key, starts)


def test_packed_ids_come_back_whole_and_take_four_bytes_each() -> None:
    ids = [0, 1, 255, 256, 49151, (1 << 32) - 1]
    assert unpack_ids(pack_ids(ids)) == ids
    assert len(pack_ids(ids)) == 4 * len(ids)
    assert pack_ids([1]) == b"\x01\x00\x00\x00"


def test_a_path_is_the_ids_of_its_messages_in_order() -> None:
    assert joined_ids([tokens(1, 2, starts=True), tokens(3), tokens(4, 5)], KEY) == [1, 2, 3, 4, 5]


def test_what_lies_above_a_prompt_rendered_anew_does_not_count() -> None:
    path = [tokens(1, starts=True, key="old"), tokens(2, key="old"), tokens(7, 8, starts=True), tokens(9)]
    assert joined_ids(path, KEY) == [7, 8, 9]


def test_ids_made_under_another_model_or_system_prompt_are_not_used() -> None:
    assert joined_ids([tokens(1, starts=True), tokens(2, key="other")], KEY) is None
    assert joined_ids([tokens(1, starts=True)], prompt_key("model", "Be brief.")) is None
    assert joined_ids([tokens(1, starts=True)], prompt_key("another", None)) is None


def test_a_path_without_a_beginning_is_not_used() -> None:
    assert joined_ids([], KEY) is None
    assert joined_ids([tokens(1)], KEY) is None


def test_an_empty_system_prompt_is_none() -> None:
    assert prompt_key("model", "") == prompt_key("model", None)


def test_a_short_first_message_is_the_title_on_one_line() -> None:
    assert title_from("  What is\n\ta tide? ") == "What is a tide?"


def test_a_long_first_message_is_cut_between_words_at_sixty_characters() -> None:
    title = title_from("word " * 40)
    assert len(title) <= 60
    assert title.endswith("word…")


def test_a_word_longer_than_a_title_is_cut_inside() -> None:
    assert title_from("x" * 200) == "x" * 59 + "…"
