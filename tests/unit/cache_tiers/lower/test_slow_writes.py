"""Two tiers of one store, one of which takes writes slowly or not at all."""

import threading
from collections.abc import Iterable, Iterator
from functools import partial
from typing import Final

import pytest

from cache_tiers.lower.async_tier import AsyncTier
from cache_tiers.lower.backend import Refusal, TierClient, Value
from cache_tiers.lower.block import Block
from cache_tiers.lower.link_speed import LinkMeter
from cache_tiers.lower.sealed_value import FINGERPRINT_BYTES, BlockSeal
from cache_tiers.lower.tier import LowerTierOptions
from cache_tiers.lower.tiers import LowerTiers
from cache_tiers.owners.owners import Owners
from cache_tiers.testing import DictBackend, DictSession
from cache_tiers.tier import Tier
from tests.tier_results import Results
from tests.waiting import until

NBYTES: Final = 8
MOST_WAITING: Final = 4
KEYS: Final = [b"somebody" + number.to_bytes(24, "big") for number in range(40)]


class GatedBackend(DictBackend):
    """A dictionary that takes a write only while `writes` is set."""

    def __init__(self, tier: Tier) -> None:
        super().__init__(tier)
        self.writes = threading.Event()
        self.writes.set()

    def connect(self, meter: LinkMeter, _client: TierClient) -> DictSession:
        return GatedSession(self, meter)


class GatedSession(DictSession):
    def __init__(self, backend: GatedBackend, meter: LinkMeter) -> None:
        super().__init__(backend, meter)
        self._writes = backend.writes

    def write(self, values: Iterable[Value]) -> Refusal | None:
        self._writes.wait()
        return super().write(values)


class TwoTiers:
    """Two tiers over dictionaries, with room for `MOST_WAITING` waiting blocks."""

    def __init__(self) -> None:
        self.fast, self.slow = GatedBackend(Tier("fast", "fast")), GatedBackend(Tier("slow", "slow"))
        options = LowerTierOptions(NBYTES, MOST_WAITING * NBYTES, BlockSeal(b"s", bytes(FINGERPRINT_BYTES)), Owners())
        self.lower = LowerTiers([AsyncTier(each, options) for each in (self.slow, self.fast)], options.owners)


@pytest.fixture
def tiers() -> Iterator[TwoTiers]:
    tiers = TwoTiers()
    yield tiers
    tiers.slow.writes.set()
    tiers.lower.close()


def block(key: bytes) -> Block:
    return Block(key, memoryview(bytearray(key[-1:] * NBYTES)))


def test_tier_that_does_not_write_costs_the_other_nothing(tiers: TwoTiers) -> None:
    tiers.slow.writes.clear()
    ended = Results[bool]()
    for key in KEYS:
        tiers.lower.put([block(key)], ended)
        until(partial(tiers.fast.values.get, key))
    in_flight = tiers.slow.description.write_lanes
    assert len(ended.wait(len(KEYS) - MOST_WAITING - in_flight)) <= len(KEYS) - in_flight, "no more blocks stay pinned"
    slow, fast = (tiers.lower.stats()[name] for name in ("slow", "fast"))
    assert (fast.stored_blocks, fast.shed_blocks) == (len(KEYS), 0)
    assert slow.shed_blocks == len(KEYS) - MOST_WAITING - in_flight
    tiers.slow.writes.set()
    ended.wait(len(KEYS))

    def missed_are_written_again() -> bool:
        missed = tiers.lower.take_missed(8)
        if missed is not None:
            tier, keys = missed
            tier.put([block(key) for key in keys], Results[bool]())
        return tiers.lower.num_missed == 0 and not tiers.lower.may_miss_more

    until(missed_are_written_again)
    assert set(tiers.slow.values) == set(tiers.fast.values) == set(KEYS)
