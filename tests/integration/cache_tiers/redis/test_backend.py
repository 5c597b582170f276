"""The Redis tier, without LMCache: bounds, threads and old servers."""

import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from cache_tiers.lower.async_tier import AsyncTier
from cache_tiers.lower.block import Block
from cache_tiers.redis.address import RedisAddress
from cache_tiers.redis.keys import redis_key
from cache_tiers.redis.resp import Timeouts
from tests.redis_server import RedisServer
from tests.store_rig import redis_tier
from tests.tier_results import Results
from tests.waiting import until

pytest_plugins = ["tests.store_fixtures"]

BLOCK = 1 << 20


def block(number: int, nbytes: int = BLOCK) -> Block:
    return Block(bytes([number]) * 32, memoryview(bytearray([number]) * nbytes))


@pytest.fixture
def client(redis_server: RedisServer) -> Iterator[AsyncTier]:
    client = redis_tier(redis_server.address, block_nbytes=BLOCK, max_write_bytes=4 * BLOCK)
    yield client
    client.close()


def test_writes_beyond_the_queue_limit_are_shed_and_counted(redis_server: RedisServer, client: AsyncTier) -> None:
    redis_server.freeze()
    results = Results[object]()
    for number in range(20):
        client.put([block(number)], results)
    shed = client.stats().shed_blocks
    # Four writes may wait, and each of the two workers may have taken one before.
    assert 14 <= shed <= 16
    assert results.wait(20) == [False] * 20, "the other writes must fail when Redis does not answer"
    stats = client.stats()
    assert (stats.failed_blocks, stats.pending_writes, stats.shed_blocks) == (20, 0, shed)
    redis_server.thaw()


def test_close_ends_every_operation_under_way(redis_server: RedisServer) -> None:
    client = redis_tier(
        redis_server.address, block_nbytes=BLOCK, max_write_bytes=100 * BLOCK, timeouts=Timeouts(io=60, operation=60)
    )
    redis_server.freeze()
    results = Results[object]()
    for number in range(10):
        client.put([block(number)], results)
        client.load([block(number)], results)
    closing = threading.Thread(target=client.close)
    closing.start()
    assert len(results.wait(20)) == 20
    closing.join(10)
    assert not closing.is_alive()
    client.put([block(1)], results)
    assert results.wait(21)[-1] is False, "an operation after close must fail immediately"
    redis_server.thaw()


def test_load_without_getex_renews_the_time_to_live(tmp_path: Path) -> None:
    """Emulate Redis before 6.2, which lacks GETEX: two commands read the value and renew its time to live."""
    server = RedisServer(tmp_path, "--rename-command", "GETEX", "")
    client = redis_tier(server.address, block_nbytes=BLOCK, max_write_bytes=BLOCK * 4)
    try:
        stored, loaded = Results[object](), Results[object]()
        client.put([block(1), block(2)], stored)
        assert stored.wait(1) == [True]
        with server.client() as other:
            other.expire(redis_key(block(1).key), 100)
            client.load([block(1), block(3), block(2)], loaded)
            assert loaded.wait(1) == [[True, False, True]]
            assert other.ttl(redis_key(block(1).key)) > 1000
    finally:
        client.close()
        server.kill()


def test_breaker_closes_when_the_server_is_back(redis_server: RedisServer) -> None:
    client = redis_tier(redis_server.address, block_nbytes=BLOCK, max_write_bytes=4 * BLOCK)
    for _ in range(3):
        redis_server.kill()
        until(lambda: not client.available)
        redis_server.start()
        until(lambda: client.available)
        results = Results[object]()
        client.put([block(1)], results)
        assert results.wait(1) == [True]
    client.close()


def test_unreachable_address_does_not_delay_the_start(tmp_path: Path) -> None:
    client = redis_tier(RedisAddress(unix_path=tmp_path / "none"), block_nbytes=BLOCK, max_write_bytes=BLOCK)
    results = Results[object]()
    client.put([block(1)], results)
    client.find([b"x"], results)
    assert results.wait(2) == [False, [False]]
    client.close()


def test_renew_extends_time_to_live_and_forgets_lost_blocks(
    redis_server: RedisServer,
) -> None:
    client = redis_tier(redis_server.address, block_nbytes=BLOCK, max_write_bytes=100 * BLOCK, renew_seconds=0.0)
    try:
        blocks = [block(number) for number in range(4)]
        names = [each.key for each in blocks]
        client.put(blocks, lambda _stored: None)
        assert client.flush(10)
        with redis_server.client() as redis:
            for name in names:
                redis.expire(redis_key(name), 100)
            client.renew(names[:2])
            until(lambda: all(redis.ttl(redis_key(name)) > 1000 for name in names[:2]))
            assert all(redis.ttl(redis_key(name)) <= 100 for name in names[2:])
            redis.flushall()
        assert client.num_known(names) == 4
        client.renew(names)
        until(lambda: client.num_known(names) == 0)
    finally:
        client.close()


def test_renewals_within_the_interval_are_skipped(redis_server: RedisServer) -> None:
    client = redis_tier(redis_server.address, block_nbytes=BLOCK, max_write_bytes=100 * BLOCK)
    try:
        client.put([block(1)], lambda _stored: None)
        assert client.flush(10)
        with redis_server.client() as redis:
            before = redis.info("commandstats").get("cmdstat_expire", {"calls": 0})["calls"]
            for _ in range(5):
                client.renew([block(1).key])
            client.put([block(2)], lambda _stored: None)
            assert client.flush(10)
            assert redis.info("commandstats").get("cmdstat_expire", {"calls": 0})["calls"] == before
    finally:
        client.close()


def test_hung_resolver_delays_neither_start_nor_close(monkeypatch: pytest.MonkeyPatch) -> None:
    answers = threading.Event()
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: answers.wait(60))
    address = RedisAddress(host="redis.example", port=6379)
    began = time.monotonic()
    client = redis_tier(address, block_nbytes=BLOCK, max_write_bytes=BLOCK, timeouts=Timeouts(io=0.1))
    assert client.stats().state == "Redis does not answer in time"
    client.close()
    assert time.monotonic() - began < 10
    answers.set()
