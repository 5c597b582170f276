"""A tier whose calls hang: it is left out until it answers, and no caller waits for it until then."""

import threading
from collections.abc import Iterator
from dataclasses import replace

import pytest

from cache_tiers.lower.async_tier import AsyncTier
from cache_tiers.lower.backend import TierClient, Value
from cache_tiers.lower.block import Block
from cache_tiers.lower.link_speed import LinkMeter
from cache_tiers.lower.sealed_value import Reject
from cache_tiers.lower.tier import LowerTierOptions
from cache_tiers.owners.owners import Owners
from cache_tiers.testing import DictBackend, DictSession
from cache_tiers.tier import Tier
from tests.store_rig import SEAL
from tests.tier_results import Results
from tests.waiting import until

NBYTES = 4096


class HangingBackend(DictBackend):
    """A dictionary whose reads wait until `moves` is set."""

    def __init__(self) -> None:
        super().__init__(Tier("dict", "the dictionary"), lanes=2)
        self.description = replace(self.description, hang_seconds=0.05)
        self.moves = threading.Event()
        self.moves.set()

    def connect(self, meter: LinkMeter, _client: TierClient) -> DictSession:
        return HangingSession(self, meter)


class HangingSession(DictSession):
    def __init__(self, backend: HangingBackend, meter: LinkMeter) -> None:
        super().__init__(backend, meter)
        self._moves = backend.moves

    def read(self, values: Iterator[Value]) -> Iterator[int | Reject | None]:
        for value in values:
            self._moves.wait()
            yield from super().read(iter([value]))


@pytest.fixture
def backend() -> HangingBackend:
    return HangingBackend()


@pytest.fixture
def tier(backend: HangingBackend) -> Iterator[AsyncTier]:
    tier = AsyncTier(backend, LowerTierOptions(NBYTES, 64 * NBYTES, SEAL, Owners()))
    yield tier
    backend.moves.set()
    tier.close()


def block(number: int) -> Block:
    return Block(bytes([number]) * 32, memoryview(bytearray(NBYTES)))


def test_hanging_tier_is_left_out_until_it_answers(backend: HangingBackend, tier: AsyncTier) -> None:
    stored, hung, waiting = Results[bool](), Results[list[bool]](), Results[list[bool]]()
    tier.put([block(number) for number in range(8)], stored)
    assert stored.wait(1) == [True]
    backend.moves.clear()
    # Two lanes take a block each, and the rest waits for them.
    tier.load([block(0)], hung)
    tier.load([block(1)], hung)
    tier.load([block(number) for number in range(2, 8)], waiting)
    until(lambda: not tier.available)
    assert waiting.wait(1) == [[False] * 6], "what no lane has taken ends at once"
    assert tier.stats().state == "the dictionary does not answer"
    tier.load([block(2)], waiting)
    tier.put([block(2)], stored)
    assert (waiting.wait(2)[-1], stored.wait(2)[-1]) == ([False], False)
    assert hung.wait(0) == []
    backend.moves.set()
    until(lambda: tier.available)
    assert hung.wait(2) == [[True], [True]]
    tier.load([block(2)], waiting)
    assert waiting.wait(3)[-1] == [True]
