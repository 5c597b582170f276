"""The tiers below CPU memory, used as one."""

import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import pytest

from cache_tiers.cpu_store.mailbox import Mailbox
from cache_tiers.lower.async_tier import AsyncTier
from cache_tiers.lower.backend import TierClient, Value
from cache_tiers.lower.block import Block
from cache_tiers.lower.link_speed import LinkMeter
from cache_tiers.lower.misses import TierMissReason
from cache_tiers.lower.sealed_value import FINGERPRINT_BYTES, HEADER_BYTES, TAG_BYTES, BlockSeal, Reject
from cache_tiers.lower.speed_trials import TRIAL_SECONDS
from cache_tiers.lower.tier import LowerTierOptions
from cache_tiers.lower.tiers import LowerTiers
from cache_tiers.owners.owners import Owners
from cache_tiers.testing import DictBackend, DictSession
from cache_tiers.tier import Tier
from tests.waiting import until

NEAR, FAR = Tier("near", "the near tier"), Tier("far", "the far tier")
SEAL = BlockSeal(b"secret", bytes(FINGERPRINT_BYTES))
KEYS = [bytes([number]) * 32 for number in range(6)]


@dataclass
class Clock:
    """Time that passes when the test says so."""

    now: float = 100.0

    def __call__(self) -> float:
        return self.now


class GatedBackend(DictBackend):
    """A dictionary that answers lookups only while `answers` is set.

    reads: keys of the values that were read.
    """

    def __init__(self, tier: Tier) -> None:
        super().__init__(tier)
        self.answers = threading.Event()
        self.answers.set()
        self.reads: list[bytes] = []

    def connect(self, meter: LinkMeter, _client: TierClient) -> DictSession:
        self.check()
        return GatedSession(self, meter)


class GatedSession(DictSession):
    def __init__(self, backend: GatedBackend, meter: LinkMeter) -> None:
        super().__init__(backend, meter)
        self._gated = backend

    def find(self, keys: Sequence[bytes]) -> list[bool]:
        self._gated.answers.wait()
        return super().find(keys)

    def read(self, values: Iterator[Value]) -> Iterator[int | Reject | None]:
        for value in values:
            self._gated.reads.append(value.key)
            yield from super().read(iter([value]))


class DictTier(AsyncTier):
    """A tier over a dictionary.

    backend: what the test changes.
    """

    def __init__(self, tier: Tier, values: dict[bytes, bytes] | None = None) -> None:
        self.backend = GatedBackend(tier)
        self.backend.values = values if values is not None else {}
        self.clock = Clock()
        self.meter = LinkMeter(self.clock)
        super().__init__(self.backend, LowerTierOptions(8, 1 << 10, SEAL, Owners()), self.meter)

    def measured_at(self, bytes_per_second: float) -> None:
        """Let the tier have been measured just now."""
        received, nbytes = 0, 1 << 20
        self.clock.now += 10
        self.meter.on_answer(0.001)
        with self.meter.receiving(lambda: received):
            received = nbytes
            self.clock.now += nbytes / bytes_per_second

    @property
    def blocks(self) -> dict[bytes, bytes]:
        """Payloads by key."""
        blocks = {key: bytearray(len(value) - HEADER_BYTES) for key, value in self.backend.values.items()}
        for key, value in self.backend.values.items():
            sealed = memoryview(bytearray(value[HEADER_BYTES:] + bytes(TAG_BYTES)))
            assert SEAL.open(value[:HEADER_BYTES], sealed, memoryview(blocks[key])) is None
        return {key: bytes(block) for key, block in blocks.items()}

    def take_down(self) -> None:
        """Make the tier unavailable."""
        self.backend.fault = OSError("switched off by the test")
        until(lambda: not self.available)

    def bring_back(self) -> None:
        """Make the tier available again."""
        self.backend.fault = None
        until(lambda: self.available)


@pytest.fixture
def near() -> Iterator[DictTier]:
    near = DictTier(NEAR)
    yield near
    near.close()


@pytest.fixture
def far() -> Iterator[DictTier]:
    far = DictTier(FAR)
    yield far
    far.close()


@pytest.fixture
def lower(near: DictTier, far: DictTier, clock: Clock) -> LowerTiers:
    return LowerTiers([near, far], Owners(), clock=clock)


@pytest.fixture
def clock() -> Clock:
    return Clock()


def blocks_of(keys: Sequence[bytes]) -> list[Block]:
    return [Block(key, memoryview(bytearray(key[:1] * 8))) for key in keys]


def put(lower: LowerTiers, keys: Sequence[bytes]) -> bool:
    lower.announce(keys)
    stored: Mailbox[tuple[bool]] = Mailbox(lambda: None)
    task = stored.open()
    lower.put(blocks_of(keys), lambda all_stored: stored.put(task, (all_stored,)))
    return until(lambda: stored.take(task))[0]


def erase(tier: DictTier | LowerTiers, keys: Sequence[bytes]) -> bool:
    erased: Mailbox[tuple[bool]] = Mailbox(lambda: None)
    task = erased.open()
    tier.erase(keys, lambda is_erased: erased.put(task, (is_erased,)))
    return until(lambda: erased.take(task))[0]


def find(lower: LowerTiers, keys: Sequence[bytes]) -> list[bool]:
    found: Mailbox[list[bool]] = Mailbox(lambda: None)
    task = found.open()
    lower.find(keys, lambda answer: found.put(task, answer))
    return until(lambda: found.take(task))


def load(lower: LowerTiers, keys: Sequence[bytes]) -> list[bytes | None]:
    blocks = [Block(key, memoryview(bytearray(8))) for key in keys]
    loaded: Mailbox[list[bool]] = Mailbox(lambda: None)
    task = loaded.open()
    lower.load(blocks, lambda outcome: loaded.put(task, outcome))
    outcome = until(lambda: loaded.take(task))
    return [bytes(block.payload) if is_there else None for block, is_there in zip(blocks, outcome, strict=True)]


def test_put_writes_to_every_tier(lower: LowerTiers, near: DictTier, far: DictTier) -> None:
    assert put(lower, KEYS)
    assert near.blocks == far.blocks == {key: key[:1] * 8 for key in KEYS}


def test_run_continues_in_the_next_tier(lower: LowerTiers, near: DictTier, far: DictTier) -> None:
    put(lower, KEYS)
    assert erase(near, KEYS[2:])
    assert erase(far, [*KEYS[:1], KEYS[5]])
    assert lower.num_known(KEYS) == 5
    assert find(lower, KEYS) == [True] * 5 + [False]
    assert load(lower, KEYS[:5]) == [key[:1] * 8 for key in KEYS[:5]]
    assert [lower.source_of(key) for key in KEYS[:5]] == ["near", "near", "far", "far", "far"]
    assert [lower.place_of(key) for key in KEYS] == ["near", "near", "far", "far", "far", None]


def test_unavailable_tier_is_passed_over(lower: LowerTiers, near: DictTier, far: DictTier) -> None:
    put(lower, KEYS)
    near.take_down()
    assert load(lower, KEYS) == [key[:1] * 8 for key in KEYS]
    assert (near.stats().loaded_blocks, far.stats().loaded_blocks) == (0, 6)
    assert lower.speed_for(KEYS) == far.speed


def test_unavailable_tiers_deliver_nothing(lower: LowerTiers, near: DictTier, far: DictTier) -> None:
    put(lower, KEYS)
    near.take_down()
    far.take_down()
    assert not lower.available
    assert lower.speed_for(KEYS) is None
    assert load(lower, KEYS) == [None] * 6


def test_missed_blocks_go_to_the_tier_that_missed_them(lower: LowerTiers, near: DictTier, far: DictTier) -> None:
    far.take_down()
    assert not put(lower, KEYS)
    assert lower.num_missed == 6
    assert lower.take_missed(4) is None
    far.bring_back()
    assert lower.take_missed(4) == (far, KEYS[:4])
    assert lower.take_missed(4) == (far, KEYS[4:])
    assert lower.take_missed(4) is None


def test_miss_names_failing_tier_and_tiers_without_the_block(lower: LowerTiers, near: DictTier, far: DictTier) -> None:
    find(lower, KEYS[:1])
    absent = lower.miss_of(KEYS[0])
    assert (absent.reason, absent.tier, absent.gone_from) == (TierMissReason.UNKNOWN_KEY, FAR.name, ("near", "far"))
    near.take_down()
    find(lower, KEYS[1:2])
    failed = lower.miss_of(KEYS[1])
    why = "the near tier was skipped: the near tier cannot be reached: switched off by the test"
    assert (failed.text, failed.gone_from) == (why, ("far",))


def test_statistics_include_tiers_that_are_off(near: DictTier) -> None:
    stats = LowerTiers([near], Owners(), off=[FAR]).stats()
    assert [(tier, each.state, each.is_on) for tier, each in stats.items()] == [
        ("near", "ok", True),
        ("far", "off", False),
    ]


def test_unavailable_tier_claims_no_block(lower: LowerTiers, near: DictTier, far: DictTier) -> None:
    put(lower, KEYS)
    assert erase(far, KEYS[2:])
    near.take_down()
    assert find(lower, KEYS) == [True, True, False, False, False, False]
    assert [lower.place_of(key) for key in KEYS[:3]] == ["far", "far", None]


@pytest.mark.parametrize("name", ["", "Disk", "local-disk", "computed", "tier"])
def test_id_that_collides_with_another_name_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match="cannot be the id of a tier"):
        Tier(name, "a tier")


def test_no_tiers_have_nothing_and_take_nothing() -> None:
    lower = LowerTiers([], Owners())
    assert not put(lower, KEYS)
    assert find(lower, KEYS) == [False] * 6
    assert load(lower, KEYS) == [None] * 6
    assert (lower.tiers, lower.available, lower.num_known(KEYS), lower.stats()) == ((), False, 0, {})
    assert lower.speed_for(KEYS) is None
    assert lower.miss_of(KEYS[0]).reason is TierMissReason.OFF
    assert lower.take_missed(8) is None
    assert lower.flush(0.0)


def test_erasure_is_done_once_no_tier_has_the_blocks(near: DictTier, far: DictTier, lower: LowerTiers) -> None:
    assert put(lower, KEYS)
    far.take_down()
    assert not erase(lower, KEYS)
    assert set(far.blocks) == set(KEYS)
    far.bring_back()
    assert erase(lower, KEYS)
    assert not near.blocks | far.blocks


def test_faster_tier_reads_and_is_named(lower: LowerTiers, near: DictTier, far: DictTier) -> None:
    put(lower, KEYS)
    near.measured_at(10e6)
    far.measured_at(500e6)
    assert load(lower, KEYS) == [key[:1] * 8 for key in KEYS]
    assert (near.stats().loaded_blocks, far.stats().loaded_blocks) == (0, 6)
    assert {lower.source_of(key) for key in KEYS} == {lower.place_of(key) for key in KEYS} == {"far"}
    assert lower.speed_for(KEYS) == lower.speed_for([]) == far.speed


def test_slow_tier_is_measured_again_and_wins_back(
    lower: LowerTiers, near: DictTier, far: DictTier, clock: Clock
) -> None:
    put(lower, KEYS)
    near.measured_at(10e6)
    far.measured_at(500e6)
    load(lower, KEYS)
    until(lambda: near.backend.reads == KEYS[:1])
    load(lower, KEYS)
    clock.now += TRIAL_SECONDS
    load(lower, KEYS)
    until(lambda: near.backend.reads == [KEYS[0], KEYS[0]])
    assert near.stats().loaded_blocks == 0, "no request received these blocks"
    near.measured_at(5000e6)
    load(lower, KEYS)
    assert (near.stats().loaded_blocks, lower.source_of(KEYS[0])) == (6, "near")


def test_lookup_ends_once_all_keys_were_found(lower: LowerTiers, near: DictTier, far: DictTier) -> None:
    put(lower, KEYS)
    # Tiers of a new process, which knows no key.
    started = DictTier(NEAR, near.backend.values), DictTier(FAR, far.backend.values)
    restarted = LowerTiers(started, Owners())
    started[0].backend.answers.clear()
    assert find(restarted, KEYS) == [True] * 6
    assert restarted.place_of(KEYS[0]) == "far"
    started[0].backend.answers.set()
    until(lambda: restarted.place_of(KEYS[0]) == "near")
    restarted.close()
