"""Fixtures for tests of the tiers. A test module loads them with `pytest_plugins = ["tests.store_fixtures"]`."""

from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import pytest

from cache_tiers.cpu_store.block_memory import MemoryKind
from cache_tiers.cpu_store.open_store import INSTALLED
from cache_tiers.cpu_store.tier_store import TierStore
from tests.redis_server import RedisServer
from tests.store_rig import Rigs
from tests.waiting import until


@pytest.fixture
def redis_server(tmp_path: Path) -> Iterator[RedisServer]:
    """Start an empty Redis on a socket file."""
    server = RedisServer(tmp_path)
    yield server
    server.thaw()
    server.kill()


class Closer:
    """Background closer of stores. LMCache may take a second to end its threads, which no test should wait for."""

    def __init__(self) -> None:
        self._pool = ThreadPoolExecutor(16, "store-closer")
        self._closings: list[Future[None]] = []

    def close(self, store: TierStore) -> None:
        self._closings.append(self._pool.submit(store.close))

    def wait(self) -> None:
        for closing in self._closings:
            closing.result(30)
        self._pool.shutdown()


@pytest.fixture(scope="session")
def closer() -> Iterator[Closer]:
    """Share one closer among all tests. A close that fails or hangs fails the last test."""
    closer = Closer()
    yield closer
    closer.wait()


@pytest.fixture
def memory_kind() -> MemoryKind:
    """Provide the way to manage host memory that is installed. `on_each_memory` runs a test on each."""
    return INSTALLED


@pytest.fixture
def rigs(closer: Closer, memory_kind: MemoryKind) -> Iterator[Rigs]:
    """Provide a `Rigs` that opens stores. At the end of the test no store may hold a lock without an owner."""
    rigs = Rigs(closer.close, memory_kind)
    yield rigs
    for store in rigs.opened:
        try:
            assert_nothing_leaked(store)
        finally:
            rigs.end(store)


def assert_nothing_leaked(store: TierStore) -> None:
    """Wait for the last write to succeed or fail, and assert that no lock or slot is held."""
    until(lambda: store.stats().pending_writes == 0)
    store.check()
