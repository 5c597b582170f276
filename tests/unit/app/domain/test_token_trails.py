"""Trails: the token sequences of a conversation, recovered from its tree of messages."""

import pytest

from app.domain.answer_tokens import TokenNode, TokenTrail, trails_of
from app.domain.token_history import MessageTokens, num_common, pack_ids


def node(id_: str, parent: str | None, ids: list[int], *, starts: bool = False, key: str = "key") -> TokenNode:
    role = "user" if id_.startswith("q") else "assistant"
    return TokenNode(id_, parent, role, MessageTokens(pack_ids(ids), key, starts))


def trail(ids: list[int], *ends: int) -> TokenTrail:
    return TokenTrail(pack_ids(ids), ends)


def test_each_branch_is_a_trail_with_ends_of_answers() -> None:
    nodes = [
        node("a3", "q2", [8, 9]),
        node("q1", None, [1, 2], starts=True),
        node("a1", "q1", [3, 4, 5]),
        node("a2", "q1", [6]),
        node("q2", "a1", [7]),
    ]
    assert sorted(trails_of(nodes), key=lambda each: each.ids) == [
        trail([1, 2, 3, 4, 5, 7, 8, 9], 4, 7),
        trail([1, 2, 6], 2),
    ]


def test_rerendered_prompt_is_a_separate_trail() -> None:
    nodes = [
        node("q1", None, [1, 2], starts=True),
        node("a1", "q1", [3]),
        node("q2", "a1", [11, 12, 13], starts=True),
        node("a2", "q2", [14]),
    ]
    assert sorted(trails_of(nodes), key=lambda each: each.ids) == [trail([1, 2, 3], 2), trail([11, 12, 13, 14], 3)]


def test_answer_without_tokens_ends_after_its_prompt() -> None:
    assert trails_of([node("q1", None, [1], starts=True), node("a1", "q1", [])]) == [trail([1], 1)]
    assert trails_of([node("a1", "q1", [], key=""), node("q1", None, [1], starts=True)]) == [trail([1], 1)]
    assert trails_of([node("a1", None, [])]) == []


def test_each_model_of_a_chat_has_a_trail() -> None:
    nodes = [
        node("q1", None, [1], starts=True),
        node("a1", "q1", [2]),
        node("q2", "a1", [11, 12], starts=True, key="other"),
        node("a2", "q2", [13], key="other"),
        node("q3", "a2", [3, 4]),
        node("a3", "q3", [5]),
    ]
    assert sorted(trails_of(nodes), key=lambda each: each.ids) == [trail([1, 2, 3, 4, 5], 1, 4), trail([11, 12, 13], 2)]


def test_question_that_two_models_answer_is_in_a_trail_of_each() -> None:
    nodes = [
        node("q1", None, [1], starts=True),
        node("q1", None, [11], starts=True, key="other"),
        node("a1", "q1", [2]),
        node("a2", "q1", [12], key="other"),
    ]
    assert sorted(trails_of(nodes), key=lambda each: each.ids) == [trail([1, 2], 1), trail([11, 12], 1)]


def test_empty_conversation_has_no_trail() -> None:
    assert trails_of([]) == []


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        ([], [], 0),
        ([1], [], 0),
        ([1, 2, 3], [1, 2, 3], 3),
        ([1, 2, 3], [1, 2], 2),
        ([1, 2, 3], [1, 2, 4], 2),
        ([1, 2, 3], [4, 2, 3], 0),
        ([0x01020304], [0x05020304], 0),
        (list(range(1000)), [*range(700), *range(701, 1001)], 700),
    ],
)
def test_common_prefix_counts_whole_ids(one: list[int], other: list[int], expected: int) -> None:
    assert num_common(pack_ids(one), pack_ids(other)) == expected
    assert num_common(pack_ids(other), pack_ids(one)) == expected
