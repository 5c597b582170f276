"""Fixtures for tests of the tiers. A test module takes them with `pytest_plugins = ["tests.store_fixtures"]`."""

from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import pytest

from cache_tiers.lmcache_store import LMCacheStore
from tests.redis_server import RedisServer
from tests.store_rig import Rigs
from tests.waiting import until


@pytest.fixture
def redis_server(tmp_path: Path) -> Iterator[RedisServer]:
    """An empty Redis on a socket file."""
    server = RedisServer(tmp_path)
    yield server
    server.thaw()
    server.kill()


class Closer:
    """Closes stores in the background: LMCache may take a second to end its threads, which no test should wait for."""

    def __init__(self) -> None:
        self._pool = ThreadPoolExecutor(16, "store-closer")
        self._closings: list[Future[None]] = []

    def close(self, store: LMCacheStore) -> None:
        self._closings.append(self._pool.submit(store.close))

    def wait(self) -> None:
        for closing in self._closings:
            closing.result(30)
        self._pool.shutdown()


@pytest.fixture(scope="session")
def closer() -> Iterator[Closer]:
    """One for all tests; a closing that fails or hangs fails the last of them."""
    closer = Closer()
    yield closer
    closer.wait()


@pytest.fixture
def rigs(closer: Closer) -> Iterator[Rigs]:
    """Opens stores; at the end of the test none of them may hold a lock that has no owner."""
    rigs = Rigs(closer.close)
    yield rigs
    for store in rigs.opened:
        try:
            assert_nothing_leaked(store)
        finally:
            rigs.end(store)


def assert_nothing_leaked(store: LMCacheStore) -> None:
    """After the last write has ended, well or not, nobody holds anything."""
    until(lambda: store.stats().redis_pending_writes == 0)
    store.check()
