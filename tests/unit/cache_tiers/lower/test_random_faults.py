"""A tier that raises, stalls and lies at random: each operation ends once, and nothing wrong is delivered."""

import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from random import Random
from typing import Any

import pytest

from cache_tiers.lower.async_tier import AsyncTier
from cache_tiers.lower.backend import Refusal, TierClient, TierFaultError, TierRefusedError, Usage, Value
from cache_tiers.lower.block import Block
from cache_tiers.lower.link_speed import LinkMeter
from cache_tiers.lower.sealed_value import FINGERPRINT_BYTES, BlockSeal, Reject
from cache_tiers.lower.tier import LowerTierOptions
from cache_tiers.owners.owners import Owners
from cache_tiers.testing import DictBackend, DictSession
from cache_tiers.tier import Tier
from tests.waiting import until

NBYTES = 96
NUM_KEYS = 12
NUM_OPERATIONS = 120
FAULTS: Sequence[Callable[[], Exception]] = (
    lambda: OSError(5, "Input/output error"),
    lambda: ConnectionResetError("the wire is cut"),
    lambda: TierFaultError("nonsense"),
    lambda: TierRefusedError("not now"),
    lambda: RuntimeError("a defect"),
)


class RandomBackend(DictBackend):
    """A dictionary whose sessions fail at random. ended: set to end every stall."""

    def __init__(self, choose: Random, lanes: int) -> None:
        super().__init__(Tier("dict", "a dictionary"), lanes=lanes, renew_seconds=0.0)
        self.choose = choose
        self.ended = threading.Event()

    def connect(self, meter: LinkMeter, client: TierClient) -> "RandomSession":
        return RandomSession(self, meter)


class RandomSession(DictSession):
    def __init__(self, backend: RandomBackend, meter: LinkMeter) -> None:
        super().__init__(backend, meter)
        self._random = backend

    def _happens(self, odds: float) -> bool:
        return not self._random.ended.is_set() and self._random.choose.random() < odds

    def _stumble(self) -> None:
        if self._happens(0.05):
            raise self._random.choose.choice(FAULTS)()
        if self._happens(0.05):
            self._random.ended.wait(0.002)

    def find(self, keys: Sequence[bytes]) -> list[bool]:
        self._stumble()
        return [self._happens(0.5) if self._happens(0.1) else is_there for is_there in super().find(keys)]

    def read(self, values: Iterator[Value]) -> Iterator[int | Reject | None]:
        for value in values:
            self._stumble()
            [found] = super().read(iter([value]))
            if self._happens(0.2):
                value.payload[self._random.choose.randrange(NBYTES)] ^= 1
            yield self._random.choose.choice((None, 0, 5, 10_000, Reject.TYPE, found)) if self._happens(0.2) else found

    def write(self, values: Iterable[Value]) -> Refusal | None:
        self._stumble()
        return Refusal("SET: full") if self._happens(0.05) else super().write(values)

    def keep(self, keys: Sequence[bytes]) -> list[bool] | Refusal:
        self._stumble()
        return super().keep(keys)

    def remove(self, keys: Sequence[bytes]) -> Refusal | None:
        self._stumble()
        return super().remove(keys)

    def usage(self) -> Usage:
        self._stumble()
        return super().usage()


def key(number: int) -> bytes:
    return bytes([number]) * 32


@pytest.mark.parametrize("lanes", [1, 3])
@pytest.mark.parametrize("seed", range(3))
def test_each_operation_ends_once_with_nothing_wrong(seed: int, lanes: int) -> None:
    choose = Random(seed)
    backend = RandomBackend(Random(seed), lanes)
    seal = BlockSeal(b"secret", bytes(FINGERPRINT_BYTES))
    tier = AsyncTier(backend, LowerTierOptions(NBYTES, 6 * NBYTES, seal, Owners()))
    ended: list[int] = []
    wrong: list[bytes] = []

    def done(number: int, blocks: Sequence[Block] = ()) -> Callable[[Any], None]:
        def on_result(result: Any) -> None:
            ended.append(number)
            if blocks:
                pairs = zip(blocks, result, strict=True)
                wrong.extend(each.key for each, is_there in pairs if is_there and each.payload != each.key[:1] * NBYTES)

        return on_result

    for number in range(NUM_OPERATIONS):
        if number % 10 == 0:
            until(lambda: tier.available)
        numbers = choose.sample(range(NUM_KEYS), choose.randrange(1, 5))
        keys = [key(each) for each in numbers]
        match choose.randrange(5):
            case 0:
                tier.announce(keys)
                tier.put([Block(each, memoryview(each[:1] * NBYTES)) for each in keys], done(number))
            case 1:
                blocks = [Block(each, memoryview(bytearray(NBYTES))) for each in keys]
                tier.load(blocks, done(number, blocks))
            case 2:
                tier.find(keys, done(number))
            case 3:
                tier.renew(keys)
                done(number)([])
            case 4:
                until(lambda: tier.stats().pending_writes == 0)
                tier.erase(keys, done(number))
    until(lambda: len(ended) >= NUM_OPERATIONS)
    assert sorted(ended) == list(range(NUM_OPERATIONS))
    assert wrong == []
    assert tier.stats().pending_writes == 0
    tier.flush(10)
    backend.ended.set()
    until(lambda: tier.available)
    loaded: list[list[bool]] = []
    blocks = [Block(key(each), memoryview(bytearray(NBYTES))) for each in range(NUM_KEYS)]
    tier.load(blocks, loaded.append)
    until(lambda: bool(loaded))
    assert all(
        each.payload == each.key[:1] * NBYTES for each, is_there in zip(blocks, loaded[0], strict=True) if is_there
    )
    assert loaded[0] == [key(each) in backend.values for each in range(NUM_KEYS)]
    tier.close()
