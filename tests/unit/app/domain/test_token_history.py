from app.domain.token_history import MessageTokens, joined_ids, num_known, pack_ids, prompt_key, unpack_ids
from app.storage.heads import PathTokens

KEY = prompt_key("model", None)
OTHER = prompt_key("another", None)


def tokens(*ids: int, starts: bool = False, key: str = KEY) -> MessageTokens:
    return MessageTokens(pack_ids(ids), key, starts)


def question(*lists: MessageTokens) -> PathTokens:
    return PathTokens("user", lists)


def answer(*ids: int, key: str = KEY) -> PathTokens:
    return PathTokens("assistant", (tokens(*ids, key=key),))


def test_packed_ids_round_trip_in_four_bytes_each() -> None:
    ids = [0, 1, 255, 256, 49151, (1 << 32) - 1]
    assert unpack_ids(pack_ids(ids)) == ids
    assert len(pack_ids(ids)) == 4 * len(ids)
    assert pack_ids([1]) == b"\x01\x00\x00\x00"


def test_path_joins_ids_of_messages_in_order() -> None:
    path = [question(tokens(1, 2, starts=True)), answer(3), question(tokens(4, 5))]
    assert joined_ids(path, KEY) == [1, 2, 3, 4, 5]


def test_messages_before_rerendered_prompt_do_not_count() -> None:
    path = [question(tokens(1, starts=True)), answer(2), question(tokens(7, 8, starts=True)), answer(9)]
    assert joined_ids(path, KEY) == [7, 8, 9]


def test_ids_of_other_model_or_system_prompt_are_not_used() -> None:
    assert joined_ids([question(tokens(1, starts=True)), answer(2, key="other")], KEY) is None
    assert joined_ids([question(tokens(1, starts=True))], prompt_key("model", "Be brief.")) is None
    assert joined_ids([question(tokens(1, starts=True))], OTHER) is None


def test_path_without_start_is_not_used() -> None:
    assert joined_ids([], KEY) is None
    assert joined_ids([question(tokens(1))], KEY) is None


def test_empty_system_prompt_equals_none() -> None:
    assert prompt_key("model", "") == prompt_key("model", None)


def test_message_without_key_is_part_of_next_keyed_ids() -> None:
    unkeyed = question(MessageTokens())
    path = [unkeyed, question(tokens(1, 2, starts=True)), answer(3), unkeyed, question(tokens(4))]
    assert joined_ids(path, KEY) == [1, 2, 3, 4]


def test_path_with_untokenized_last_message_is_not_used() -> None:
    assert joined_ids([question(tokens(1, starts=True)), question(MessageTokens())], KEY) is None


def test_each_model_of_a_chat_continues_its_own_prompt() -> None:
    path = [
        question(tokens(1, starts=True)),
        answer(2),
        question(tokens(11, 12, 13, starts=True, key=OTHER)),
        answer(14, key=OTHER),
        question(tokens(3, 4, 5)),
        answer(6),
    ]
    assert num_known(path[:4], KEY) == 2
    assert joined_ids(path[:2], KEY) == [1, 2]
    assert joined_ids(path, KEY) == [1, 2, 3, 4, 5, 6]
    assert num_known(path, OTHER) == 4
    assert joined_ids(path[:4], OTHER) == [11, 12, 13, 14]


def test_question_that_two_models_answer_has_ids_of_each() -> None:
    asked = question(tokens(1, starts=True), tokens(11, starts=True, key=OTHER))
    assert joined_ids([asked, answer(2)], KEY) == [1, 2]
    assert joined_ids([asked, answer(12, key=OTHER)], OTHER) == [11, 12]
    assert num_known([asked, answer(12, key=OTHER)], KEY) == 0
    assert num_known([asked], OTHER) == 1


def test_answer_whose_question_lost_its_ids_is_not_used() -> None:
    replaced = question(tokens(11, starts=True, key=OTHER))
    path = [question(tokens(1, starts=True)), answer(2), replaced, answer(4)]
    assert joined_ids(path, KEY) is None
