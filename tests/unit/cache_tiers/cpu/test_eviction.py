"""The order in which blocks are evicted from host memory."""

from typing import get_args

import pytest

from cache_tiers.cpu.eviction import UNMARKED, EvictionName, EvictionPolicy, LikelyToReturn, make_eviction
from cache_tiers.owners.block_key import BlockKey


def chain(name: str, count: int, after: tuple[BlockKey, ...] = ()) -> tuple[BlockKey, ...]:
    """Extend the chain `after` by `count` blocks."""
    return after + tuple(BlockKey(f"{name}{index}".encode()) for index in range(len(after), len(after) + count))


def leave(policy: EvictionPolicy, blocks: tuple[BlockKey, ...], found: int = 0, *, marked: bool = False) -> None:
    """Store and use a chain, as a finished request does. The first `found` blocks were hits.

    marked: whether the client marked the whole chain for caching.
    """
    for key in blocks:
        policy.add(key)
    policy.touch(blocks, found, range(len(blocks)) if marked else UNMARKED)


@pytest.fixture(params=get_args(EvictionName))
def policy(request: pytest.FixtureRequest) -> EvictionPolicy:
    name: EvictionName = request.param
    return make_eviction(name)


def test_each_name_has_its_own_policy_and_unknown_raises() -> None:
    names: tuple[EvictionName, ...] = get_args(EvictionName)
    assert len({type(make_eviction(name)) for name in names}) == len(names)
    with pytest.raises(KeyError, match="fifo"):
        make_eviction("fifo")  # type: ignore[arg-type]


def test_end_of_least_recently_used_chain_is_evicted_first(policy: EvictionPolicy) -> None:
    old, new = chain("old", 3), chain("new", 2)
    leave(policy, old)
    leave(policy, new)
    assert list(policy.in_order()) == [*reversed(old), *reversed(new)]


def test_chain_used_on_device_is_not_the_oldest(policy: EvictionPolicy) -> None:
    old, new = chain("old", 3), chain("new", 2)
    leave(policy, old)
    leave(policy, new)
    policy.touch(old, 3)
    assert list(policy.in_order())[:2] == list(reversed(new))


def test_using_a_removed_block_does_not_restore_it(policy: EvictionPolicy) -> None:
    blocks = chain("a", 4)
    leave(policy, blocks)
    policy.remove(blocks[3])
    policy.remove(blocks[3])
    policy.touch(blocks, 4)
    assert list(policy.in_order()) == list(reversed(blocks[:3]))


def _teach(policy: LikelyToReturn, *, marks_chats: bool = False, marks_calls: bool = False) -> None:
    """Teach the policy that chats return three times and single calls never do."""
    for number in range(40):
        turns = chain(f"chat{number}/", 4)
        leave(policy, turns, marked=marks_chats)
        for _ in range(3):
            found = len(turns)
            turns = chain(f"chat{number}/", 4, turns)
            leave(policy, turns, found, marked=marks_chats)
        for single in range(4):
            leave(policy, chain(f"single{number}.{single}/", 4), marked=marks_calls)
        for key in list(policy.in_order()):
            policy.remove(key)


def test_live_conversation_outlives_later_single_calls() -> None:
    policy = LikelyToReturn()
    _teach(policy)
    first = chain("live", 4)
    leave(policy, first)
    live = chain("live", 4, first)
    leave(policy, live, 4)
    once = [key for number in range(5) for key in chain(f"once{number}/", 4)]
    for number in range(5):
        leave(policy, chain(f"once{number}/", 4))
    order = list(policy.in_order())
    assert set(order[:12]) <= set(once)
    assert len(order) == 28


def test_shared_prefix_outlives_chats_without_making_them_live() -> None:
    policy = LikelyToReturn()
    _teach(policy)
    system = chain("system", 4)
    leave(policy, chain("first", 4, system))
    leave(policy, chain("second", 4, system), 4)
    leave(policy, chain("third", 4, system), 4)
    order = list(policy.in_order())
    assert order[-4:] == list(reversed(system))
    assert [key.decode()[:5] for key in order[:4]] == ["first"] * 4, "of the new blocks, the oldest must go first"


@pytest.mark.parametrize("marks_calls", [False, True])
def test_new_chat_outlives_later_calls_where_marks_tell_them(marks_calls: bool) -> None:
    policy, chat = LikelyToReturn(), chain("chat", 4)
    _teach(policy, marks_chats=not marks_calls, marks_calls=marks_calls)
    leave(policy, chat, marked=not marks_calls)
    for number in range(5):
        leave(policy, chain(f"call{number}/", 4), marked=marks_calls)
    assert [key.decode()[:4] for key in policy.in_order()] == ["call"] * 16 + ["chat"] * 4 + ["call"] * 4


def test_marks_on_everything_change_no_order() -> None:
    orders = []
    for marked in (False, True):
        policy = LikelyToReturn()
        _teach(policy, marks_chats=marked, marks_calls=marked)
        live = chain("live", 4)
        leave(policy, live, marked=marked)
        leave(policy, chain("live", 4, live), 4, marked=marked)
        for number in range(9):
            leave(policy, chain(f"call{number}/", 4), marked=marked)
            policy.add(BlockKey(f"unused{number}".encode()))
        orders.append(list(policy.in_order()))
    assert orders[0] == orders[1]
    assert len(set(orders[0])) == len(orders[0]) == 53


def test_marked_blocks_go_before_returned_ones_of_same_age() -> None:
    policy, returned, marked = LikelyToReturn(), chain("returned", 4), chain("marked", 4)
    for number in range(20):
        kept_promise = chain(f"kept{number}/", 4)
        leave(policy, kept_promise, marked=True)
        policy.touch(kept_promise, 4)
        for key in kept_promise:
            policy.remove(key)
    leave(policy, returned)
    policy.touch(returned, 4)
    leave(policy, marked, marked=True)
    policy.protect((*returned, *marked))
    assert list(policy.in_order()) == [*reversed(marked), *reversed(returned)]


def test_order_is_complete_after_counts_fade_to_zero() -> None:
    policy = LikelyToReturn()
    system = chain("system", 4)
    leave(policy, system)
    policy.touch(system, 4)
    for _ in range(1200):
        policy._once.fade()
        policy._returned.fade()
    leave(policy, chain("once", 4))
    assert len(list(policy.in_order())) == 8


def test_touched_blocks_are_evicted_after_others(policy: EvictionPolicy) -> None:
    wanted, other = chain("wanted", 3), chain("other", 3)
    leave(policy, wanted)
    leave(policy, other)
    policy.protect(wanted)
    assert list(policy.in_order())[:3] == list(reversed(other))


def test_returning_policy_is_lru_when_all_chats_return() -> None:
    policy = LikelyToReturn()
    blocks: dict[int, tuple[BlockKey, ...]] = {}
    for _ in range(4):
        for number in range(20):
            found = len(blocks.get(number, ()))
            blocks[number] = chain(f"chat{number}/", 2, blocks.get(number, ()))
            leave(policy, blocks[number], found)
    newest = chain("new", 2)
    leave(policy, newest)
    assert list(policy.in_order())[:8] == list(reversed(blocks[0]))
