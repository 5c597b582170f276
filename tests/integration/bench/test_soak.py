"""Redis faults of a soak: effective while they last, and undone afterwards."""

import random
import threading
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from bench.slow_link import SlowLink
from bench.soak.faults import FAULTS, Site, Strike, strike_all
from tests.redis_server import RedisServer
from tests.sizes import TOOL
from tests.waiting import until

pytestmark = TOOL

MIB = 1 << 20
MEMORY = 64 * MIB
BLOCK = bytes(range(256)) * 5_000
NAME = "ebb:kv:1"
KEEPS_BLOCKS = ("frozen", "slow", "cut", "refusing", "locked", "set back")


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    folder = tmp_path / "redis"
    folder.mkdir()
    server = RedisServer(folder, "--maxmemory", str(MEMORY), "--maxmemory-policy", "allkeys-lru")
    with SlowLink(tmp_path / "link", server.socket) as link:
        yield Site(server, link, MEMORY, random.Random(1))
    server.kill()


@pytest.mark.parametrize("kind", FAULTS)
def test_fault_is_felt_and_then_undone(kind: str, site: Site, tmp_path: Path) -> None:
    client = client_of(tmp_path / "link", timeout=20)
    client.set(NAME, BLOCK)
    with FAULTS[kind](site):
        hasty = client_of(tmp_path / "link", timeout=0.2)
        assert is_felt(kind, hasty)
        hasty.close()
    client.close()

    assert kind == "evicting" or (client.get(NAME) == BLOCK) is (kind in KEEPS_BLOCKS)
    client.set("ebb:kv:2", BLOCK)
    assert client.get("ebb:kv:2") == BLOCK
    settings = client.config_get("maxmemory*")
    assert isinstance(settings, dict)
    assert (settings["maxmemory"], settings["maxmemory-policy"]) == (str(MEMORY), "allkeys-lru")
    client.close()


def client_of(link: Path, *, timeout: float) -> redis.Redis:
    """Connect a client without retries. timeout: in seconds."""
    return redis.Redis(unix_socket_path=str(link), socket_timeout=timeout, retry=Retry(NoBackoff(), 0))


def is_felt(kind: str, client: redis.Redis) -> bool:
    """Return whether a client that writes more blocks and reads the first one notices the fault.

    Faults that only change the speed of Redis count as felt.
    """
    try:
        if kind in ("refusing", "evicting"):
            for number in range(2, 40):
                client.set(f"ebb:kv:{number}", BLOCK)
        return client.get(NAME) != BLOCK or client.dbsize() != 1 or kind in ("slow", "cut", "set back")
    except redis.exceptions.RedisError:
        return True


def test_aborted_soak_undoes_its_fault_and_starts_no_other(site: Site) -> None:
    over, done = threading.Event(), Counter[str]()
    strikes = [Strike(0.0, "killed", 600.0), Strike(0.0, "frozen", 600.0)]
    with ThreadPoolExecutor(1) as pool:
        striking = pool.submit(strike_all, strikes, site, over, done)
        until(lambda: done.total() > 0 or striking.done())
        over.set()
        striking.result(20)
    assert done == {"killed": 1}
    with site.redis.client() as client:
        assert client.ping()
