"""Redis faults, which cost time but never cause a wrong byte, a leaked lock or the loss of the CPU tier."""

import time
from collections.abc import Callable
from pathlib import Path

import pytest

from cache_tiers.lower.sealed_value import FINGERPRINT_BYTES, HEADER_BYTES, BlockSeal
from cache_tiers.redis.keys import redis_key
from tests.redis_server import RedisServer
from tests.store_rig import SECRET, Rig, Rigs, key, keys, on_each_memory
from tests.waiting import until

pytest_plugins = ["tests.store_fixtures"]

# Operations under way when Redis stops answering may take their whole timeout. Later ones must not.
ONE_TIMEOUT = 3.0
AT_ONCE = 0.2


def seconds(action: Callable[[], object]) -> float:
    began = time.monotonic()
    action()
    return time.monotonic() - began


def until_up(rig: Rig) -> None:
    rig.until_stats(lambda stats: stats.lower["redis"].state == "ok")


def until_down(rig: Rig) -> None:
    rig.until_stats(lambda stats: stats.lower["redis"].state != "ok")


@pytest.fixture
def rig(redis_server: RedisServer, rigs: Rigs) -> Rig:
    """Store with blocks 0 to 7 in CPU memory and in Redis, and blocks 8 to 15 in Redis alone."""
    other = rigs.open(redis_server.address)
    other.put(keys(range(8, 16)))
    assert other.store.flush(10)
    rigs.close(other)
    rig = rigs.open(redis_server.address)
    rig.put(keys(range(8)))
    assert rig.store.flush(10)
    return rig


def test_tier_recovers_after_redis_restarts_empty(redis_server: RedisServer, rig: Rig) -> None:
    redis_server.kill()
    assert rig.counts(keys(range(8))) == (8, 0)
    assert rig.counts(keys(range(8, 16))) == (0, 0)
    rig.until_stats(lambda stats: stats.lower["redis"].state == "nothing is listening at the Redis address")
    assert seconds(lambda: rig.fetch(keys(range(8, 16)))) < AT_ONCE
    rig.put([key(100)])
    rig.until_stats(lambda stats: stats.lower["redis"].failed_blocks == 1)
    assert rig.counts([key(100)]) == (1, 0)

    redis_server.start()
    until_up(rig)
    rig.put([key(101)])
    assert rig.store.flush(10)
    assert rig.counts(keys(range(8))) == (8, 0)
    with redis_server.client() as client:
        assert client.keys() == [redis_key(key(101))]


@on_each_memory
def test_failed_writes_are_repeated_when_redis_is_back(redis_server: RedisServer, rig: Rig) -> None:
    redis_server.kill()
    rig.put(keys(range(100, 120)))
    until_down(rig)
    rig.put(keys(range(120, 130)))
    rig.until_stats(lambda stats: stats.lower["redis"].failed_blocks == 30)
    assert rig.store.write_missed(begin=True)
    redis_server.start()
    until_up(rig)
    until(lambda: not rig.store.write_missed(begin=True))
    with redis_server.client() as client:
        assert set(client.keys()) == {redis_key(name) for name in keys(range(100, 130))}
    for name in keys(range(100, 130)):
        assert rig.counts([name]) == (1, 0), "the block must stay in CPU memory"


def test_redis_restart_between_operations_loses_no_write(redis_server: RedisServer, rig: Rig) -> None:
    """Retry on a new connection before giving up, since the server is back and only the old connections are dead."""
    redis_server.kill()
    redis_server.start()
    until_up(rig)
    rig.put(keys(range(200, 220)))
    assert rig.store.flush(10)


def test_frozen_redis_delays_only_operations_under_way(redis_server: RedisServer, rig: Rig) -> None:
    redis_server.freeze()
    assert seconds(lambda: rig.fetch(keys(range(8)))) < AT_ONCE, "blocks in CPU memory must not wait for Redis"
    assert seconds(lambda: rig.fetch(keys(range(8, 16)))) < ONE_TIMEOUT
    until_down(rig)
    assert rig.store.stats().lower["redis"].state == "Redis does not answer in time"
    assert seconds(lambda: rig.fetch(keys(range(8, 16)))) < AT_ONCE
    assert rig.counts(keys(range(8))) == (8, 0)
    assert rig.put([key(100)]) == [key(100)]
    assert rig.counts([key(100)]) == (1, 0)

    redis_server.thaw()
    until_up(rig)
    assert rig.counts(keys(range(8, 16))) == (0, 8)


def test_freeze_is_detected_without_traffic(redis_server: RedisServer, rig: Rig) -> None:
    redis_server.freeze()
    until_down(rig)
    assert rig.counts(keys(range(8, 16))) == (0, 0)
    redis_server.thaw()
    until_up(rig)


def test_prefetches_during_a_freeze_end_and_leave_no_lock(redis_server: RedisServer, rig: Rig) -> None:
    redis_server.freeze()
    handles = [rig.store.prefetch(keys(range(4, 12)), lower=True) for _ in range(20)]
    for handle in handles:
        result = rig.wait(handle, timeout=5)
        assert result.sources == ("cpu",) * 4
        rig.store.release([slot.key for slot in result.slots])
    redis_server.thaw()


def test_redis_that_starts_later_is_used(tmp_path: Path, rigs: Rigs) -> None:
    server = RedisServer(tmp_path)
    server.kill()
    rig = rigs.open(server.address)
    assert rig.store.stats().lower["redis"].state == "nothing is listening at the Redis address"
    assert rig.put(keys(range(8))) == keys(range(8))
    assert rig.counts(keys(range(8))) == (8, 0)
    server.start()
    try:
        until_up(rig)
        rig.put([key(100)])
        assert rig.store.flush(10)
    finally:
        server.kill()


def test_flush_reports_blocks_that_did_not_reach_redis(redis_server: RedisServer, rig: Rig) -> None:
    redis_server.freeze()
    rig.put(keys(range(20, 28)))
    assert not rig.store.flush(0.05), "the writes are still pending"
    assert rig.store.stats().lower["redis"].write_lag_seconds > 0.05
    assert not rig.store.flush(10), "the writes were dropped"
    stats = rig.store.stats()
    assert (stats.lower["redis"].failed_blocks, stats.pending_writes) == (8, 0)
    redis_server.thaw()


@on_each_memory
def test_store_closes_promptly_while_redis_is_frozen(redis_server: RedisServer, rigs: Rigs) -> None:
    rig = rigs.open(redis_server.address)
    redis_server.freeze()
    rig.put(keys(range(20, 28)))
    rigs.opened.remove(rig.store)
    # LMCache takes up to two seconds to end its threads.
    assert seconds(rig.store.close) < 4.0
    redis_server.thaw()


def test_full_redis_only_refuses_blocks(tmp_path: Path, rigs: Rigs) -> None:
    server = RedisServer(tmp_path, "--maxmemory", "4mb", "--maxmemory-policy", "noeviction")
    try:
        rig = rigs.open(server.address)
        rig.put(keys(range(100)))
        assert not rig.store.flush(10)
        stats = rig.store.stats()
        assert stats.lower["redis"].state == "ok"
        assert stats.lower["redis"].stored_blocks > 10
        assert stats.lower["redis"].failed_blocks > 10
        assert rig.counts(keys(range(92, 100))) == (8, 0)
    finally:
        server.kill()


def test_evicting_redis_costs_only_hits(tmp_path: Path, rigs: Rigs) -> None:
    server = RedisServer(tmp_path, "--maxmemory", "4mb", "--maxmemory-policy", "allkeys-lru")
    try:
        rig = rigs.open(server.address)
        rig.put(keys(range(100)))
        assert rig.store.flush(10)
        other = rigs.open(server.address)
        found = sum(len(other.fetch([name]).slots) for name in keys(range(100)))
        assert 10 < found < 70
    finally:
        server.kill()


def poison(redis_server: RedisServer, name: bytes, change: Callable[[bytes], bytes]) -> None:
    """Rewrite one value in place."""
    with redis_server.client() as client:
        value = client.get(redis_key(name))
        assert isinstance(value, bytes)
        client.set(redis_key(name), change(value))


def flipped(value: bytes, at: int) -> bytes:
    return value[:at] + bytes([value[at] ^ 1]) + value[at + 1 :]


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(lambda value: value[:-1], id="truncated"),
        pytest.param(lambda value: value[: HEADER_BYTES - 5], id="truncated in the header"),
        pytest.param(lambda value: b"", id="empty"),
        pytest.param(lambda value: value + b"x", id="too long"),
        pytest.param(lambda value: flipped(value, len(value) // 2), id="a flipped bit of the payload"),
        pytest.param(lambda value: flipped(value, HEADER_BYTES - 1), id="a flipped bit of the MAC"),
        pytest.param(lambda value: flipped(value, 4), id="another version"),
        pytest.param(lambda value: b"x" * len(value), id="foreign bytes"),
        pytest.param(lambda value: b"x", id="a small foreign value"),
    ],
)
def test_damaged_value_is_counted_and_ends_the_hit(
    redis_server: RedisServer, rig: Rig, change: Callable[[bytes], bytes]
) -> None:
    poison(redis_server, key(10), change)
    assert rig.counts(keys(range(8, 16))) == (0, 2)
    assert rig.store.stats().lower["redis"].rejected_blocks == 1
    assert rig.counts(keys(range(11, 16))) in ((0, 5), (5, 0)), "the connection must stay in sync"
    assert not rig.store.contains(key(10))
    rig.put([key(10)])
    assert rig.store.flush(10)
    assert rig.counts(keys(range(8, 16))) == (8, 0), "the recomputed blocks must be valid"


@on_each_memory
def test_value_of_another_block_is_rejected(redis_server: RedisServer, rig: Rig) -> None:
    with redis_server.client() as client:
        client.copy(redis_key(key(9)).decode(), redis_key(key(8)).decode(), replace=True)
    assert rig.counts(keys(range(8, 16))) == (0, 0)
    assert rig.store.stats().lower["redis"].rejected_blocks == 1


@pytest.mark.parametrize(
    "seal",
    [
        pytest.param(BlockSeal(b"another secret", bytes(FINGERPRINT_BYTES)), id="another secret"),
        pytest.param(BlockSeal(SECRET, b"another model..."), id="another model"),
    ],
)
def test_block_of_another_server_is_rejected_and_rewritten(
    redis_server: RedisServer, rig: Rig, rigs: Rigs, seal: BlockSeal
) -> None:
    other = rigs.open(redis_server.address, seal=seal)
    assert other.counts(keys(range(8, 16))) == (0, 0)
    assert other.store.stats().lower["redis"].rejected_blocks == 8
    other.put([key(8)])
    assert other.store.flush(10)
    assert rig.counts([key(8)]) == (0, 0)


@on_each_memory
def test_damaged_value_that_was_never_read_is_rewritten(redis_server: RedisServer, rig: Rig, rigs: Rigs) -> None:
    with redis_server.client() as client:
        client.delete(redis_key(key(8)))
        client.setrange(redis_key(key(9)), 5000, b"damaged")
    other = rigs.open(redis_server.address)
    assert other.counts([key(8), key(9)]) == (0, 0)
    other.put([key(8), key(9)])
    assert other.store.flush(10)
    assert rigs.open(redis_server.address).counts([key(8), key(9)]) == (0, 2)


def test_key_of_another_type_is_rejected(redis_server: RedisServer, rig: Rig) -> None:
    with redis_server.client() as client:
        client.delete(redis_key(key(8)))
        client.rpush(redis_key(key(8)), "a", "b")
    assert rig.counts(keys(range(8, 16))) == (0, 0)
    assert rig.store.stats().lower["redis"].rejected_blocks == 1
    assert rig.store.stats().lower["redis"].state == "ok"
    assert len(rig.fetch(keys(range(9, 16))).slots) == 7


def test_flushed_redis_server_is_a_miss(redis_server: RedisServer, rig: Rig) -> None:
    with redis_server.client() as client:
        client.flushall()
    assert rig.counts(keys(range(8, 16))) == (0, 0)
    assert rig.counts(keys(range(8))) == (8, 0)


def test_repeatedly_cut_connections_corrupt_no_block(redis_server: RedisServer, rig: Rig) -> None:
    deadline = time.monotonic() + 1.0
    number = 1000
    with redis_server.client() as client:
        while time.monotonic() < deadline:
            client.client_kill_filter(_type="normal", skipme=True)
            rig.put([key(number)])
            number += 1
            rig.fetch(keys(range(8, 16)))
            until(lambda: rig.store.stats().pending_writes < 50)
    until_up(rig)
    assert len(rig.fetch(keys(range(8, 16))).slots) == 8
