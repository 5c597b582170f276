"""The order in which blocks leave host memory."""

import pytest

from cache_tiers.block_key import BlockKey
from cache_tiers.cpu.eviction import EvictionName, EvictionPolicy, LikelyToReturn, make_eviction


def chain(name: str, count: int, after: tuple[BlockKey, ...] = ()) -> tuple[BlockKey, ...]:
    """`count` blocks behind those of `after`."""
    return after + tuple(BlockKey(f"{name}{index}".encode()) for index in range(len(after), len(after) + count))


def leave(policy: EvictionPolicy, blocks: tuple[BlockKey, ...], found: int = 0) -> None:
    """What a request does that ends."""
    for key in blocks:
        policy.add(key)
    policy.use(blocks, found)


@pytest.fixture(params=["lru", "returning"])
def policy(request: pytest.FixtureRequest) -> EvictionPolicy:
    name: EvictionName = request.param
    return make_eviction(name)


def test_the_end_of_the_longest_unused_chain_goes_first(policy: EvictionPolicy) -> None:
    old, new = chain("old", 3), chain("new", 2)
    leave(policy, old)
    leave(policy, new)
    assert list(policy.in_order()) == [*reversed(old), *reversed(new)]


def test_a_chain_that_was_used_on_the_device_is_not_the_oldest(policy: EvictionPolicy) -> None:
    old, new = chain("old", 3), chain("new", 2)
    leave(policy, old)
    leave(policy, new)
    policy.use(old, 3)
    assert list(policy.in_order())[:2] == list(reversed(new))


def test_what_left_is_not_in_the_order_and_using_it_does_not_bring_it_back(policy: EvictionPolicy) -> None:
    blocks = chain("a", 4)
    leave(policy, blocks)
    policy.remove(blocks[3])
    policy.remove(blocks[3])
    policy.use(blocks, 4)
    assert list(policy.in_order()) == list(reversed(blocks[:3]))


def _teach(policy: LikelyToReturn) -> None:
    """Half of the chats come back several times, single calls never do."""
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


def test_a_live_conversation_outlives_later_calls_that_nobody_comes_back_to() -> None:
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


def test_a_shared_beginning_outlives_the_chats_behind_it_but_does_not_make_them_live() -> None:
    policy = LikelyToReturn()
    _teach(policy)
    system = chain("system", 4)
    leave(policy, chain("first", 4, system))
    leave(policy, chain("second", 4, system), 4)
    leave(policy, chain("third", 4, system), 4)
    order = list(policy.in_order())
    assert order[-4:] == list(reversed(system))
    assert [key.decode()[:5] for key in order[:4]] == ["first"] * 4, "of those that are new the oldest first"


def test_what_nobody_ever_came_back_to_leaves_an_order_however_long_it_goes_on() -> None:
    policy = LikelyToReturn()
    system = chain("system", 4)
    leave(policy, system)
    policy.use(system, 4)
    for _ in range(1200):
        policy._once.fade()
        policy._returned.fade()
    leave(policy, chain("once", 4))
    assert len(list(policy.in_order())) == 8


def test_what_a_request_is_about_to_use_does_not_make_room_for_what_follows_it(policy: EvictionPolicy) -> None:
    wanted, other = chain("wanted", 3), chain("other", 3)
    leave(policy, wanted)
    leave(policy, other)
    policy.touch(wanted)
    assert list(policy.in_order())[:3] == list(reversed(other))


def test_where_all_come_back_alike_it_is_lru() -> None:
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
