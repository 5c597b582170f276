"""The order in which blocks are evicted from host memory."""

from typing import get_args

import pytest

from cache_tiers.block_key import BlockKey
from cache_tiers.cpu.eviction import EvictionName, EvictionPolicy, LikelyToReturn, make_eviction


def chain(name: str, count: int, after: tuple[BlockKey, ...] = ()) -> tuple[BlockKey, ...]:
    """Extend the chain `after` by `count` blocks."""
    return after + tuple(BlockKey(f"{name}{index}".encode()) for index in range(len(after), len(after) + count))


def leave(policy: EvictionPolicy, blocks: tuple[BlockKey, ...], found: int = 0) -> None:
    """Store and use a chain, as a finished request does. The first `found` blocks were hits."""
    for key in blocks:
        policy.add(key)
    policy.touch(blocks, found)


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


def _teach(policy: LikelyToReturn) -> None:
    """Teach the policy that chats return three times and single calls never do."""
    for number in range(40):
        turns = chain(f"chat{number}/", 4)
        leave(policy, turns)
        for _ in range(3):
            found = len(turns)
            turns = chain(f"chat{number}/", 4, turns)
            leave(policy, turns, found)
        for single in range(4):
            leave(policy, chain(f"single{number}.{single}/", 4))
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
