"""The choice of the owner that gives up memory, on the device and in the CPU tier."""

from collections.abc import Sequence
from functools import partial

import pytest

from cache_tiers.cpu.eviction import UNMARKED, LeastRecentlyUsed, make_eviction
from cache_tiers.cpu.eviction_index import EvictionIndex
from cache_tiers.owners.block_key import BlockKey, KeyNamespace, Owner, owner_of
from cache_tiers.owners.owners import MAX_NAMES, Owners
from cache_tiers.owners.shares import LAPSE_SECONDS, MemoryShares
from engine.kv.block_pool import BlockPool
from tests.leaks import assert_no_leaks

QUIET, FLOOD, PUBLIC = (Owner(name) for name in (b"quiet...", b"flood...", b"public.."))


class Clock:
    """Seconds that pass when a test says so."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def key(owner: Owner, number: int) -> BlockKey:
    return BlockKey(owner + number.to_bytes(24, "big"))


def chain(owner: Owner, count: int, first: int = 0) -> list[BlockKey]:
    return [key(owner, number) for number in range(first, first + count)]


def leave_on_device(pool: BlockPool, keys: list[BlockKey], owner: Owner | None = None) -> None:
    """Do what a request does that ends: publish its blocks and return them last to first."""
    blocks = pool.allocate(len(keys), owner or owner_of(keys[0]))
    for block, name in zip(blocks, keys, strict=True):
        pool.publish(block, name, (0,))
    pool.release(reversed(blocks))
    assert_no_leaks(pool)


def on_device(pool: BlockPool, keys: list[BlockKey]) -> int:
    return sum(map(pool.has, keys))


def eviction_index(owners: Owners | None = None, clock: Clock | None = None) -> EvictionIndex:
    return EvictionIndex(partial(make_eviction, "lru"), MemoryShares(owners or Owners(), clock=clock or Clock()))


def fill(tier: EvictionIndex, keys: list[BlockKey], capacity: int) -> None:
    """Store a chain in a tier of `capacity` blocks, as far as it makes room."""
    for name in keys:
        if sum(tier.held.values()) < capacity or tier.pick(1, lambda _: True, owner_of(name)):
            tier.insert([name])
    tier.touch(keys, 0)


def test_flood_leaves_device_prefixes_of_neighbour() -> None:
    pool = BlockPool(20)
    quiet = chain(QUIET, 8)
    leave_on_device(pool, quiet)
    for number in range(50):
        leave_on_device(pool, chain(FLOOD, 5, 5 * number))
    assert on_device(pool, quiet) == 8
    assert on_device(pool, chain(FLOOD, 5, 5 * 49)) == 5, "the flood's own oldest blocks made room"


def test_device_is_all_of_the_only_tenant() -> None:
    pool = BlockPool(20)
    leave_on_device(pool, chain(FLOOD, 20))
    assert on_device(pool, chain(FLOOD, 20)) == 20


def test_tenant_below_share_takes_room_from_one_above() -> None:
    pool = BlockPool(20)
    leave_on_device(pool, chain(FLOOD, 20))
    leave_on_device(pool, chain(QUIET, 10))
    assert on_device(pool, chain(QUIET, 10)) == 10
    assert on_device(pool, chain(FLOOD, 10)) == 10, "a chain must be evicted from its end"


def test_weights_divide_device_as_they_divide_queue() -> None:
    owners = Owners({"quiet": 3.0})
    owners.note(QUIET, "quiet")
    pool = BlockPool(20, owners)
    leave_on_device(pool, chain(QUIET, 20))
    for number in range(20):
        leave_on_device(pool, chain(FLOOD, 5, 5 * number))
    assert pool.held == {QUIET: 15, FLOOD: 5}


def test_blocks_in_use_count_toward_share() -> None:
    pool = BlockPool(20)
    pool.allocate(12, FLOOD)
    leave_on_device(pool, chain(QUIET, 4))
    leave_on_device(pool, chain(FLOOD, 4))
    leave_on_device(pool, chain(FLOOD, 4, 100))
    assert on_device(pool, chain(QUIET, 4)) == 4


def test_public_blocks_are_charged_to_their_own_owner() -> None:
    pool = BlockPool(20)
    leave_on_device(pool, [*chain(PUBLIC, 3), *chain(FLOOD, 2)], FLOOD)
    assert pool.held == {PUBLIC: 3, FLOOD: 2}


def test_share_of_idle_tenant_lapses() -> None:
    clock = Clock()
    pool = BlockPool(20, clock=clock)
    leave_on_device(pool, chain(QUIET, 8))
    clock.now = LAPSE_SECONDS + 1
    for number in range(5):
        leave_on_device(pool, chain(FLOOD, 5, 5 * number))
    assert on_device(pool, chain(QUIET, 8)) == 0


def test_use_keeps_share_from_lapsing() -> None:
    clock = Clock()
    pool = BlockPool(20, clock=clock)
    leave_on_device(pool, chain(QUIET, 8))
    clock.now = LAPSE_SECONDS - 1
    block = pool.acquire_published(key(QUIET, 0))
    assert block is not None
    pool.release([block])
    clock.now = LAPSE_SECONDS + 1
    for number in range(5):
        leave_on_device(pool, chain(FLOOD, 5, 5 * number))
    assert on_device(pool, chain(QUIET, 8)) == 8


def test_pool_check_sees_wrong_charge() -> None:
    pool = BlockPool(2)
    leave_on_device(pool, chain(QUIET, 1))
    pool._shares.take(QUIET)
    with pytest.raises(AssertionError, match="charged"):
        assert_no_leaks(pool)


def test_flood_leaves_cpu_prefixes_of_neighbour() -> None:
    tier = eviction_index()
    fill(tier, chain(QUIET, 8), 20)
    for number in range(50):
        fill(tier, chain(FLOOD, 5, 5 * number), 20)
    assert tier.held == {QUIET: 8, FLOOD: 12}


def test_tier_refuses_to_take_from_smaller_owner() -> None:
    tier = eviction_index()
    fill(tier, chain(FLOOD, 8), 12)
    fill(tier, chain(QUIET, 4), 12)
    assert tier.pick(2, lambda name: owner_of(name) != FLOOD, FLOOD) == []
    assert tier.pick(2, lambda name: owner_of(name) != FLOOD, QUIET) == [key(QUIET, 3), key(QUIET, 2)]
    assert tier.pick(1, lambda _: True, QUIET) == [key(FLOOD, 7)], "a block that was excluded must be evictable again"


def test_residents_give_up_only_what_can_go() -> None:
    tier = eviction_index()
    blocks = chain(QUIET, 5)
    fill(tier, blocks, 5)
    assert tier.pick(2, lambda name: name != blocks[4], QUIET) == [blocks[3], blocks[2]]
    assert tier.held == {QUIET: 3}
    tier.remove(blocks[1:3])
    assert tier.pick(9, lambda _: True, QUIET) == [blocks[4], blocks[0]]
    assert tier.held == {}


def test_chain_behind_public_prefix_is_used_in_both_owners() -> None:
    tier = eviction_index()
    chat = [*chain(PUBLIC, 2), *chain(QUIET, 2)]
    tier.insert([*chat, *chain(QUIET, 2, 10)])
    tier.touch(chat, 2)
    assert tier.pick(1, lambda _: True, FLOOD) == [key(QUIET, 10)]
    tier.remove([key(QUIET, 11), *chain(QUIET, 2)])
    assert tier.pick(1, lambda _: True, FLOOD) == [key(PUBLIC, 1)]


class Heard(LeastRecentlyUsed):
    """LeastRecentlyUsed that keeps the marked blocks of the last chain."""

    marked: Sequence[BlockKey] = ()

    def touch(self, chain: Sequence[BlockKey], num_found: int, marked: range = UNMARKED) -> None:
        super().touch(chain, num_found, marked)
        self.marked = [block for index, block in enumerate(chain) if index in marked]


def test_marks_reach_the_policy_of_their_own_blocks_only() -> None:
    policies: list[Heard] = []

    def make() -> Heard:
        policies.append(Heard())
        return policies[-1]

    tier = EvictionIndex(make, MemoryShares(Owners(), clock=Clock()))
    chat = [*chain(PUBLIC, 2), *chain(QUIET, 3)]
    tier.insert(chat)
    tier.touch(chat, 2, range(2, 4))
    assert [policy.marked for policy in policies] == [[], chain(QUIET, 2)]


def test_owner_is_same_in_every_block_of_a_salt() -> None:
    space = KeyNamespace(
        model_fingerprint="model",
        numerics="cpu",
        kv_dtype="bfloat16",
        block_size=4,
        layout_version=1,
        tp_rank=0,
        tp_size=1,
        tenant_salt=b"salt",
    )
    assert owner_of(space.root()) == space.owner
    other = KeyNamespace(
        model_fingerprint="other",
        numerics="cuda",
        kv_dtype="float32",
        block_size=8,
        layout_version=1,
        tp_rank=0,
        tp_size=1,
        tenant_salt=b"salt",
    )
    assert other.owner == space.owner


def test_names_are_bounded() -> None:
    owners = Owners({"b": 2.0}, most=2)
    for name in ("a", "b", "c"):
        owners.note(Owner(name.encode()), name)
    assert [owners.name(Owner(name)) for name in (b"a", b"b", b"c")] == [None, "b", "c"]
    assert [owners.weight(Owner(name)) for name in (b"a", b"b")] == [1.0, 2.0]
    assert MAX_NAMES > 10_000
