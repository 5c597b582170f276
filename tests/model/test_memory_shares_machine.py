"""Random lives of a device pool and of a CPU tier that several owners share.

After every step each owner's charge equals the blocks that it holds. Whenever a block is evicted, no owner that holds
more for its weight has a block that could be evicted instead.
"""

from collections import Counter

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from cache_tiers.cpu.eviction import EvictionName, make_eviction
from cache_tiers.cpu.eviction_index import EvictionIndex
from cache_tiers.owners.block_key import BlockKey, Owner, owner_of
from cache_tiers.owners.owners import Owners
from cache_tiers.owners.shares import LAPSE_SECONDS, MemoryShares
from engine.kv.block import KVCacheBlock
from engine.kv.block_pool import BlockPool
from tests.leaks import assert_no_leaks
from tests.lives import run_lives
from tests.sizes import Size

WEIGHTS = {"0": 1.0, "1": 3.0, "2": 0.5, "3": 1.0, "4": 1.0}
BLOCKS = 12
OWNERS = st.sampled_from([Owner(b"owner-%d." % number) for number in range(len(WEIGHTS))])
NUMBERS = st.integers(0, 15)


def make_owners() -> Owners:
    owners = Owners(WEIGHTS)
    for name in WEIGHTS:
        owners.note(Owner(f"owner-{name}.".encode()), name)
    return owners


def key(owner: Owner, number: int) -> BlockKey:
    return BlockKey(owner + number.to_bytes(24, "big"))


class Life(RuleBasedStateMachine):
    """Random life of a memory that several owners share.

    used: time at which each owner last used a block that it holds.
    """

    def __init__(self) -> None:
        super().__init__()
        self.now = 0.0
        self.owners = make_owners()
        self.used: dict[Owner, float] = {}

    def clock(self) -> float:
        return self.now

    @rule(seconds=st.sampled_from((1.0, LAPSE_SECONDS / 2, LAPSE_SECONDS)))
    def wait(self, seconds: float) -> None:
        self.now += seconds

    def uses(self, owner: Owner) -> None:
        self.used[owner] = self.now

    def is_fair(self, loser: Owner, held: Counter[Owner], can_lose: set[Owner]) -> bool:
        """Check that no owner in `can_lose` should have lost a block before `loser`, by holdings and by last use."""
        lapsed = {owner for owner in held if self.used[owner] <= self.now - LAPSE_SECONDS}
        if loser in lapsed or lapsed & can_lose:
            return loser in lapsed
        level = {owner: held[owner] / self.owners.weight(owner) for owner in held}
        return all(level[loser] >= level[other] for other in can_lose)


class DeviceLife(Life):
    def __init__(self) -> None:
        super().__init__()
        self.pool = BlockPool(BLOCKS, self.owners, on_evict=self.evicted, clock=self.clock)
        self.requests: list[list[KVCacheBlock]] = []
        self.taker: Owner | None = None
        self.unsaved: set[BlockKey] = set()

    def held(self) -> Counter[Owner]:
        return Counter(block.owner for block in self.pool._blocks if block.owner is not None)

    def evicted(self, name: BlockKey) -> None:
        """Check that `name` was a fair victim. By now its owner is no longer charged for it."""
        waits = name in self.unsaved
        self.unsaved.discard(name)
        if self.taker is None:
            return
        free = [b.key for b in self.pool._blocks if b.ref_count == 0 and b.key and owner_of(b.key) == owner_of(name)]
        assert not waits or self.unsaved.issuperset(free), "a block was lost although its owner had one to spare"
        held = self.held() + Counter([owner_of(name), self.taker])
        can_lose = {block.owner for block in self.pool._blocks if block.ref_count == 0 and block.owner is not None}
        assert self.is_fair(owner_of(name), held, can_lose), "an owner lost a block to an owner that holds more"

    @rule(owner=OWNERS, count=st.integers(1, 6), first=NUMBERS, partial=st.booleans(), public=st.booleans())
    def begin(self, owner: Owner, count: int, first: int, partial: bool, public: bool) -> None:
        """Compute and publish some blocks of `owner`. With `partial`, an unpublished last one stays partly filled."""
        blocks: list[KVCacheBlock] = []
        for number in range(first, first + min(count, self.pool.num_free)):
            self.uses(owner)
            self.taker = owner
            [block] = self.pool.allocate(1, owner)
            self.taker = None
            blocks.append(block)
            its = Owner(b"owner-0.") if public else owner
            if self.pool.publish(block, key(its, number), (number,)):
                self.uses(its)
        if blocks and partial and blocks[-1].key is None:
            self.pool.publish_partial(blocks[-1], key(owner, 99), (first,))
        self.requests.append(blocks)

    @rule(owner=OWNERS, number=NUMBERS)
    def find(self, owner: Owner, number: int) -> None:
        block = self.pool.acquire_published(key(owner, number))
        if block is not None:
            self.uses(owner)
            self.requests.append([block])

    @rule(which=st.integers(0, 9), count=st.integers(1, 4))
    @precondition(lambda self: self.requests)
    def offer(self, which: int, count: int) -> None:
        """Mark published blocks of a request as waiting for their copies to a lower tier."""
        for block in self.requests[which % len(self.requests)][:count]:
            if block.key is not None and block.partial_of is None:
                self.pool.mark_unsaved(block)
                self.unsaved.add(block.key)

    @rule(which=st.integers(0, 9))
    @precondition(lambda self: self.unsaved)
    def save(self, which: int) -> None:
        name = sorted(self.unsaved)[which % len(self.unsaved)]
        self.pool.mark_saved(name)
        self.unsaved.remove(name)

    @rule(owner=OWNERS, count=st.integers(1, BLOCKS))
    def count_losses(self, owner: Owner, count: int) -> None:
        line = self.pool._unused.get(owner)
        assert 0 <= self.pool.num_losses(owner, count) <= (line.num_unsaved if line is not None else 0)

    @rule(owner=OWNERS, first=NUMBERS)
    def renew(self, owner: Owner, first: int) -> None:
        chain = [key(owner, number) for number in range(first, first + 3)]
        if any(block.key in chain and block.ref_count == 0 for block in self.pool._blocks):
            self.uses(owner)
        self.pool.renew(chain)

    @rule(which=st.integers(0, 9))
    @precondition(lambda self: self.requests)
    def end(self, which: int) -> None:
        self.pool.release(reversed(self.requests.pop(which % len(self.requests))))

    @rule(owner=OWNERS, number=NUMBERS)
    def erase(self, owner: Owner, number: int) -> None:
        self.pool.erase([key(owner, number)])

    @rule(all_of_it=st.booleans())
    def forget(self, all_of_it: bool) -> None:
        (self.pool.forget_all if all_of_it else self.pool.forget_free)()

    @invariant()
    def charges_are_what_is_held(self) -> None:
        assert_no_leaks(self.pool)
        assert self.pool.held == self.held()
        assert {block.key for block in self.pool._blocks if block.is_unsaved} == self.unsaved


class CpuLife(Life):
    policy: EvictionName = "lru"

    def __init__(self) -> None:
        super().__init__()
        shares = MemoryShares(self.owners, clock=self.clock)
        self.tier = EvictionIndex(lambda: make_eviction(self.policy), shares)
        self.there: set[BlockKey] = set()
        self.locked: set[BlockKey] = set()

    @rule(owner=OWNERS, first=NUMBERS, count=st.integers(1, 6))
    def store(self, owner: Owner, first: int, count: int) -> None:
        names = [key(owner, number) for number in range(first, first + count)]
        # A block in the tier is not stored again.
        for name in (name for name in names if name not in self.there):
            if len(self.there) < BLOCKS or self.make_room(owner):
                self.tier.insert([name])
                self.uses(owner)
                self.there.add(name)
        assert len(self.there) <= BLOCKS

    def make_room(self, taker: Owner) -> bool:
        held = Counter(map(owner_of, self.there))
        can_lose = {owner_of(name) for name in self.there - self.locked}
        victims = self.tier.pick(1, lambda name: name not in self.locked, taker)
        for name in victims:
            assert name in self.there - self.locked
            assert self.is_fair(owner_of(name), held, can_lose), "an owner lost a block to an owner that holds more"
            self.there.remove(name)
        assert victims or taker not in can_lose, "an owner was refused although its own blocks could be evicted"
        return bool(victims)

    @rule(owner=OWNERS, first=NUMBERS, found=st.integers(0, 4), num_marked=st.integers(0, 4))
    def use(self, owner: Owner, first: int, found: int, num_marked: int) -> None:
        self.tier.touch([key(owner, number) for number in range(first, first + 4)], found, range(num_marked))
        self.uses(owner)

    @rule(owner=OWNERS, number=NUMBERS)
    def lose(self, owner: Owner, number: int) -> None:
        self.tier.remove([key(owner, number)])
        self.there.discard(key(owner, number))

    @rule(owner=OWNERS, number=NUMBERS)
    def lock(self, owner: Owner, number: int) -> None:
        """Lock a block as a read or a write to Redis does, or unlock a locked one."""
        self.locked ^= {key(owner, number)}

    @invariant()
    def charges_are_what_is_held(self) -> None:
        assert self.tier.held == Counter(map(owner_of, self.there))


class ReturningCpuLife(CpuLife):
    policy: EvictionName = "returning"


def test_no_owner_on_device_makes_room_for_a_larger_one(size: Size) -> None:
    run_lives(DeviceLife, lives=size.pick(small=30, full=2000), steps=60)


def test_no_owner_in_cpu_tier_makes_room_for_a_larger_one(size: Size) -> None:
    run_lives(CpuLife, lives=size.pick(small=25, full=2000), steps=60)
    run_lives(ReturningCpuLife, lives=size.pick(small=12, full=1000), steps=60)
