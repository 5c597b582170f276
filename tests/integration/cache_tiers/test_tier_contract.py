"""The contract of every tier below CPU memory: the same rules over dictionaries, Redis and a disk."""

import hashlib
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Final

import pytest

from cache_tiers.disk.backend import DiskBackend
from cache_tiers.disk.value_file import PAGE
from cache_tiers.lower.async_tier import AsyncTier
from cache_tiers.lower.backend import TierBackend
from cache_tiers.lower.block import Block
from cache_tiers.lower.misses import TierMiss, TierMissReason
from cache_tiers.lower.sealed_value import HEADER_BYTES, Reject
from cache_tiers.lower.tier import LowerTierOptions
from cache_tiers.owners.owners import Owners
from cache_tiers.redis.backend import RedisBackend
from cache_tiers.redis.keys import redis_key
from cache_tiers.testing import DictBackend
from cache_tiers.tier import Tier
from tests.redis_server import RedisServer
from tests.store_rig import SEAL
from tests.tier_results import Results
from tests.waiting import until

pytest_plugins = ["tests.store_fixtures"]

NBYTES: Final = 8 << 10


def key(number: int) -> bytes:
    return b"somebody" + hashlib.sha256(b"%d" % number).digest()[:24]


def payload(number: int) -> bytes:
    return hashlib.shake_128(key(number)).digest(NBYTES)


class Rig(ABC):
    """A tier, and what a test can do to the medium behind it. Each tier has one."""

    tier: AsyncTier

    def open(self, max_write_bytes: int = 64 * NBYTES) -> None:
        """Open the tier."""
        self.tier = AsyncTier(self.backend(), LowerTierOptions(NBYTES, max_write_bytes, SEAL, Owners()))

    @abstractmethod
    def backend(self) -> TierBackend:
        """Return a backend of the medium."""

    @abstractmethod
    def take_down(self) -> None:
        """Make the medium unusable."""

    @abstractmethod
    def bring_back(self) -> None:
        """Make the medium usable again."""

    @abstractmethod
    def value(self, number: int) -> bytes:
        """Return header and payload of a stored block."""

    @abstractmethod
    def replace(self, number: int, value: bytes | None) -> None:
        """Replace the value of a block; None removes it."""

    def call(self, operation: Callable[..., None], *arguments: Any) -> Any:
        """Return the result of an operation."""
        results = Results[Any]()
        operation(*arguments, results)
        [result] = results.wait(1)
        return result

    def put(self, *numbers: int) -> bool:
        """Write blocks. Return whether all were stored."""
        blocks = [Block(key(number), memoryview(payload(number))) for number in numbers]
        stored: bool = self.call(self.tier.put, blocks)
        return stored

    def load(self, *numbers: int) -> list[bool]:
        """Load blocks, and compare every byte of those that arrived."""
        blocks = [Block(key(number), memoryview(bytearray(NBYTES))) for number in numbers]
        loaded: list[bool] = self.call(self.tier.load, blocks)
        for number, block, is_there in zip(numbers, blocks, loaded, strict=True):
            assert not is_there or block.payload == payload(number), "wrong bytes were delivered"
        return loaded

    def restart(self) -> None:
        """Close the tier and open it again."""
        self.tier.close()
        self.open()


class DictRig(Rig):
    def __init__(self, lanes: int, max_value_bytes: int | None = None) -> None:
        self._backend = DictBackend(Tier("dict", "a dictionary"), lanes=lanes, max_value_bytes=max_value_bytes)

    def backend(self) -> TierBackend:
        return self._backend

    def take_down(self) -> None:
        self._backend.fault = TimeoutError("switched off by the test")

    def bring_back(self) -> None:
        self._backend.fault = None

    def value(self, number: int) -> bytes:
        return self._backend.values[key(number)]

    def replace(self, number: int, value: bytes | None) -> None:
        self._backend.values.pop(key(number), None)
        if value is not None:
            self._backend.values[key(number)] = value


class RedisRig(Rig):
    def __init__(self, server: RedisServer) -> None:
        self._server = server

    def backend(self) -> TierBackend:
        return RedisBackend(self._server.address)

    def take_down(self) -> None:
        # The harder case: nothing is refused, and nothing answers.
        self._server.freeze()

    def bring_back(self) -> None:
        self._server.thaw()

    def value(self, number: int) -> bytes:
        with self._server.client() as client:
            value = client.get(redis_key(key(number)))
        assert isinstance(value, bytes)
        return value

    def replace(self, number: int, value: bytes | None) -> None:
        with self._server.client() as client:
            client.delete(redis_key(key(number)))
            if value is not None:
                client.set(redis_key(key(number)), value)


class DiskRig(Rig):
    def __init__(self, folder: Path) -> None:
        self._folder = folder / "blocks"
        self._away = folder / "away"
        self._closing = ExitStack()

    def backend(self) -> TierBackend:
        self._closing.close()
        backend = DiskBackend(self._folder, 1 << 30, kept_free=0)
        self._closing.callback(backend.close)
        return backend

    def take_down(self) -> None:
        self._folder.rename(self._away)

    def bring_back(self) -> None:
        if self._away.exists():
            self._away.rename(self._folder)

    def _file(self, number: int) -> Path:
        [fingerprint] = [each for each in self._folder.iterdir() if each.is_dir()]
        return fingerprint / f"{key(number)[-1]:02x}" / key(number).hex()

    def value(self, number: int) -> bytes:
        raw = self._file(number).read_bytes()
        return raw[:HEADER_BYTES] + raw[PAGE:]

    def replace(self, number: int, value: bytes | None) -> None:
        self._file(number).unlink()
        if value is not None:
            header, rest = value[:HEADER_BYTES], value[HEADER_BYTES:]
            self._file(number).write_bytes(header + bytes(PAGE - HEADER_BYTES) * bool(rest) + rest)


@pytest.fixture(params=["dict", "lanes", "parts", "redis", "disk"])
def rig(request: pytest.FixtureRequest) -> Iterator[Rig]:
    rigs: dict[str, Callable[[], Rig]] = {
        "dict": lambda: DictRig(lanes=1),
        "lanes": lambda: DictRig(lanes=4),
        "parts": lambda: DictRig(lanes=2, max_value_bytes=NBYTES // 3),
        "redis": lambda: RedisRig(request.getfixturevalue("redis_server")),
        "disk": lambda: DiskRig(request.getfixturevalue("tmp_path")),
    }
    rig = rigs[request.param]()
    rig.open()
    yield rig
    rig.bring_back()
    rig.tier.close()


def test_stored_blocks_are_found_and_loaded(rig: Rig) -> None:
    assert rig.put(*range(8))
    assert rig.call(rig.tier.find, [key(number) for number in (0, 7, 99)]) == [True, True, False]
    assert rig.load(*range(10)) == [True] * 8 + [False] * 2
    stats = rig.tier.stats()
    assert (stats.stored_blocks, stats.loaded_blocks, stats.pending_writes) == (8, 8, 0)
    assert rig.tier.num_known([key(number) for number in range(10)]) == 8


def test_operations_on_nothing_complete(rig: Rig) -> None:
    assert rig.call(rig.tier.put, []) is True
    assert rig.call(rig.tier.find, []) == []
    assert rig.call(rig.tier.load, []) == []


def test_each_miss_has_its_reason(rig: Rig) -> None:
    rig.put(1)
    rig.load(1, 2)
    assert rig.tier.miss_of(key(1)) is None
    unknown = rig.tier.miss_of(key(2))
    rig.replace(1, None)
    rig.load(1)
    gone = rig.tier.miss_of(key(1))
    assert unknown is not None
    assert gone is not None
    assert (unknown.reason, gone.reason) == (TierMissReason.UNKNOWN_KEY, TierMissReason.GONE)


def test_every_damage_is_a_miss_that_a_write_heals(rig: Rig) -> None:
    rig.put(*range(9))
    changes: Sequence[Callable[[bytes], bytes]] = (
        lambda value: value[:2000] + bytes([value[2000] ^ 1]) + value[2001:],
        lambda value: value[:40] + bytes([value[40] ^ 128]) + value[41:],
        lambda value: value[:-1],
        lambda value: value + b"x",
        lambda value: value[:50],
        lambda value: b"",
        lambda value: bytes(len(value)),
        lambda _value: rig.value(8),
    )
    for number, change in enumerate(changes):
        rig.replace(number, change(rig.value(number)))
    assert rig.load(*range(9)) == [False] * 8 + [True]
    assert rig.tier.stats().rejected_blocks == 8
    miss = rig.tier.miss_of(key(0))
    assert miss is not None
    assert miss.reason is TierMissReason.REJECTED
    assert rig.put(*range(8))
    assert rig.load(*range(9)) == [True] * 9


def test_value_of_an_older_version_is_a_miss_that_a_write_heals(rig: Rig) -> None:
    rig.put(1)
    rig.replace(1, rig.value(1)[:4] + b"\2\0" + rig.value(1)[6:])
    assert rig.load(1) == [False]
    assert rig.tier.miss_of(key(1)) == TierMiss(TierMissReason.REJECTED, Reject.VERSION.value)
    assert rig.put(1)
    assert rig.load(1) == [True]


def test_erased_blocks_are_gone_and_others_stay(rig: Rig) -> None:
    rig.put(*range(6))
    assert rig.call(rig.tier.erase, [key(1), key(2)]) is True
    assert rig.load(*range(4)) == [True, False, False, True]
    rig.restart()
    assert rig.load(*range(6)) == [True, False, False, True, True, True]


def test_broken_tier_costs_no_time_and_comes_back(rig: Rig) -> None:
    rig.put(*range(4))
    rig.take_down()
    rig.call(rig.tier.find, [key(50)])
    until(lambda: not rig.tier.available)
    assert rig.load(*range(4)) == [False] * 4
    assert rig.put(5) is False
    assert rig.call(rig.tier.erase, [key(3)]) is False, "an erasure while the tier is away is made later by the caller"
    miss, stats = rig.tier.miss_of(key(0)), rig.tier.stats()
    assert miss is not None
    assert miss.reason is TierMissReason.SKIPPED
    assert stats.state != "ok"
    assert stats.state in miss.text
    assert rig.tier.take_missed(8) == [], "nothing can be put again yet"
    rig.bring_back()
    until(lambda: rig.tier.available)
    assert rig.load(*range(6)) == [True] * 4 + [False] * 2
    assert rig.tier.miss_of(key(5)) == TierMiss(TierMissReason.UNWRITTEN, stats.state)
    assert rig.tier.take_missed(8) == [key(5)]


def test_close_ends_every_operation_and_thread(rig: Rig) -> None:
    results = Results[object]()
    rig.tier.put([Block(key(number), memoryview(payload(number))) for number in range(32)], results)
    for _ in range(4):
        rig.tier.load([Block(key(number), memoryview(bytearray(NBYTES))) for number in range(32)], results)
    rig.tier.close()
    assert len(results.wait(5)) == 5
    assert not [each for each in threading.enumerate() if each.name.startswith(f"{rig.tier.tier.id}-")]
    assert rig.put(1) is False


def test_parallel_loads_get_their_own_blocks(rig: Rig) -> None:
    rig.put(*range(32))
    results = Results[list[bool]]()
    loads = [[Block(key(number), memoryview(bytearray(NBYTES))) for number in range(32)] for _ in range(4)]
    for blocks in loads:
        rig.tier.load(blocks, results)
    assert results.wait(4) == [[True] * 32] * 4
    assert all(block.payload == payload(number) for blocks in loads for number, block in enumerate(blocks))


def test_writes_that_wait_are_bounded(rig: Rig) -> None:
    rig.tier.close()
    rig.open(max_write_bytes=4 * NBYTES)
    rig.put(*range(32))
    stats = rig.tier.stats()
    assert stats.stored_blocks + stats.failed_blocks == 32
    assert stats.shed_blocks == stats.failed_blocks == rig.tier.num_missed
    assert rig.load(*range(32)).count(False) == stats.shed_blocks
    shed = [miss for number in range(32) if (miss := rig.tier.miss_of(key(number))) is not None]
    assert shed == [TierMiss(TierMissReason.UNWRITTEN, "too many blocks waited to be written")] * stats.shed_blocks


def test_announced_blocks_are_pending_until_they_are_stored(rig: Rig) -> None:
    rig.tier.announce([key(1)])
    assert rig.tier.awaits_put(key(1))
    assert rig.tier.may_miss_more
    assert rig.tier.stats().pending_writes == 1
    rig.put(1)
    assert not rig.tier.awaits_put(key(1))
    assert rig.tier.flush(5)
