"""Blocks that go to the lower tiers although their requests belong to no stored conversation."""

from collections.abc import Sequence

import pytest

from cache_tiers.moves.admission import MAX_ENDS, Admission
from cache_tiers.owners.block_key import BlockKey
from cache_tiers.owners.owners import Owners


class Written:
    """The admitted blocks."""

    def __init__(self) -> None:
        self.keys: set[BlockKey] = set()

    def admit(self, keys: Sequence[BlockKey]) -> None:
        self.keys.update(keys)


def chain(name: str, count: int, before: Sequence[BlockKey] = ()) -> list[BlockKey]:
    return [*before, *(BlockKey(b"somebody" + f"{name}/{index}".encode()) for index in range(count))]


@pytest.fixture
def written() -> Written:
    return Written()


@pytest.fixture
def admission(written: Written) -> Admission:
    return Admission(written, Owners())


def test_single_call_admits_nothing(admission: Admission, written: Written) -> None:
    admission.on_used(chain("call", 8), 0, 7, at_once=False)
    assert written.keys == set()


def test_found_blocks_alone_are_admitted(admission: Admission, written: Written) -> None:
    template = chain("template", 4)
    admission.on_used(chain("one", 5, template), 0, 8, at_once=False)
    admission.on_used(chain("two", 5, template), 4, 8, at_once=False)
    assert written.keys == set(template)


@pytest.mark.parametrize("num_found", [7, 8], ids=["prompt", "prompt and answer"])
def test_next_turn_of_a_stateless_chat_is_admitted_whole(
    admission: Admission, written: Written, num_found: int
) -> None:
    first = chain("chat", 8)
    admission.on_used(first, 0, 7, at_once=False)
    second = chain("more", 6, first[:num_found])
    admission.on_used(second, num_found, len(second) - 1, at_once=False)
    assert written.keys == set(second)


def test_turn_that_fills_no_block_is_continued_too(admission: Admission, written: Written) -> None:
    first = chain("chat", 8)
    admission.on_used(first, 0, 7, at_once=False)
    admission.on_used(first, 8, 8, at_once=False)
    third = chain("more", 3, first)
    admission.on_used(third, 8, 10, at_once=False)
    assert written.keys == set(third)


def test_instructions_that_end_a_short_call_are_no_conversation(admission: Admission, written: Written) -> None:
    template = chain("template", 4)
    for number in range(4):
        num_found = 4 if number else 0
        admission.on_used(template, num_found, 4, at_once=False)
        admission.on_used(chain(f"call {number}", 5, template), 4, 8, at_once=False)
    assert written.keys == {*template, *chain("call 0", 5)}, "only the first call looks like a next turn"


def test_stored_conversation_admits_what_it_found(admission: Admission, written: Written) -> None:
    found = chain("call", 6)
    admission.on_used(chain("chat", 2, found), 6, 7, at_once=True)
    assert written.keys == {*found, *chain("chat", 2)}


def test_ends_are_bounded(admission: Admission, written: Written) -> None:
    for number in range(MAX_ENDS):
        admission.on_used(chain(f"call {number}", 2), 0, 1, at_once=False)
    first = chain("call 0", 2)
    admission.on_used(chain("more", 1, first), 2, 2, at_once=False)
    assert written.keys == set(first), "the oldest ends are forgotten"
