from app.domain.token_history import MessageTokens, joined_ids, pack_ids, prompt_key, unpack_ids

KEY = prompt_key("model", None)


def tokens(*ids: int, starts: bool = False, key: str = KEY) -> MessageTokens:
    return MessageTokens(pack_ids(ids), key, starts)


def test_packed_ids_round_trip_in_four_bytes_each() -> None:
    ids = [0, 1, 255, 256, 49151, (1 << 32) - 1]
    assert unpack_ids(pack_ids(ids)) == ids
    assert len(pack_ids(ids)) == 4 * len(ids)
    assert pack_ids([1]) == b"\x01\x00\x00\x00"


def test_path_joins_ids_of_messages_in_order() -> None:
    assert joined_ids([tokens(1, 2, starts=True), tokens(3), tokens(4, 5)], KEY) == [1, 2, 3, 4, 5]


def test_messages_before_rerendered_prompt_do_not_count() -> None:
    path = [tokens(1, starts=True, key="old"), tokens(2, key="old"), tokens(7, 8, starts=True), tokens(9)]
    assert joined_ids(path, KEY) == [7, 8, 9]


def test_ids_of_other_model_or_system_prompt_are_not_used() -> None:
    assert joined_ids([tokens(1, starts=True), tokens(2, key="other")], KEY) is None
    assert joined_ids([tokens(1, starts=True)], prompt_key("model", "Be brief.")) is None
    assert joined_ids([tokens(1, starts=True)], prompt_key("another", None)) is None


def test_path_without_start_is_not_used() -> None:
    assert joined_ids([], KEY) is None
    assert joined_ids([tokens(1)], KEY) is None


def test_empty_system_prompt_equals_none() -> None:
    assert prompt_key("model", "") == prompt_key("model", None)


def test_message_without_key_is_part_of_next_keyed_ids() -> None:
    unkeyed = MessageTokens()
    assert joined_ids([unkeyed, tokens(1, 2, starts=True), tokens(3), unkeyed, tokens(4)], KEY) == [1, 2, 3, 4]


def test_path_with_untokenized_last_message_is_not_used() -> None:
    assert joined_ids([tokens(1, starts=True), MessageTokens()], KEY) is None
