"""Blocks that stay in CPU memory until their use shows that they are worth writing, before a Redis."""

from cache_tiers.lower.misses import TierMissReason
from cache_tiers.redis.keys import redis_key
from tests.redis_server import RedisServer
from tests.store_rig import Rig, Rigs, key, keys, on_each_memory
from tests.waiting import until

pytest_plugins = ["tests.store_fixtures"]
pytestmark = on_each_memory


def in_redis(server: RedisServer, numbers: range) -> list[int]:
    with server.client() as client:
        return [number for number in numbers if client.exists(redis_key(key(number)))]


def settled(rig: Rig) -> None:
    """Wait until the memory has passed every block to the lower tiers, by a later block that is written."""
    rig.put(keys(range(900, 901)))
    until(lambda: rig.store.num_known_below(keys(range(900, 901))) == 1)


def test_deferred_blocks_are_found_in_cpu_memory_alone(redis_server: RedisServer, rigs: Rigs) -> None:
    rig = rigs.open(redis_server.address)
    rig.put(keys(range(6)), deferred=True)
    settled(rig)
    assert in_redis(redis_server, range(6)) == []
    assert rig.counts(keys(range(6))) == (6, 0)
    stats = rig.store.stats()
    assert (stats.cpu.deferred_blocks, stats.pending_writes, stats.lower["redis"].failed_blocks) == (6, 0, 0)


def test_admitted_blocks_are_written_before_and_after_their_turn(redis_server: RedisServer, rigs: Rigs) -> None:
    rig = rigs.open(redis_server.address)
    rig.put(keys(range(6)), deferred=True)
    settled(rig)
    rig.store.admit(keys(range(2)))
    until(lambda: in_redis(redis_server, range(8)) == [0, 1])
    rig.put(keys(range(6, 8)), deferred=True)
    rig.store.admit(keys(range(6, 8)))
    until(lambda: in_redis(redis_server, range(8)) == [0, 1, 6, 7])
    assert rig.store.stats().cpu.deferred_blocks == 4
    until(lambda: rig.store.stats().pending_writes == 0)


def test_idle_machine_and_flush_write_what_is_deferred(redis_server: RedisServer, rigs: Rigs) -> None:
    rig = rigs.open(redis_server.address)
    rig.put(keys(range(6)), deferred=True)
    settled(rig)
    rig.store.write_deferred()
    until(lambda: in_redis(redis_server, range(6)) == [*range(6)])
    rig.put(keys(range(6, 120)), deferred=True)
    assert rig.store.flush(10)
    assert in_redis(redis_server, range(120)) == [*range(120)]
    assert rig.store.stats().cpu.deferred_blocks == 0


def test_evicted_deferred_block_is_dropped_and_not_lost(redis_server: RedisServer, rigs: Rigs) -> None:
    rig = rigs.open(redis_server.address)
    for number in range(400):
        rig.put([key(number)], deferred=True)
    settled(rig)
    stats = rig.store.stats().cpu
    assert stats.evicted_blocks == stats.dropped_blocks > 0
    assert (stats.lost_blocks, stats.deferred_blocks) == (0, 400 - stats.dropped_blocks)
    rig.store.admit(keys(range(10)))
    assert in_redis(redis_server, range(10)) == [], "they are gone"
    assert rig.counts([key(0)]) == (0, 0)
    assert rig.store.miss_of(key(0)).reason is TierMissReason.DROPPED
    assert rig.counts([key(1000)]) == (0, 0)
    assert rig.store.miss_of(key(1000)).reason is TierMissReason.UNKNOWN_KEY


def test_block_that_was_written_later_is_not_called_dropped(redis_server: RedisServer, rigs: Rigs) -> None:
    rig = rigs.open(redis_server.address)
    for number in range(400):
        rig.put([key(number)], deferred=True)
    settled(rig)
    rig.put([key(0)])
    until(lambda: in_redis(redis_server, range(1)) == [0])
    until(rig.store.clear_cpu)
    with redis_server.client() as client:
        client.flushall()
    assert rig.counts([key(0)]) == (0, 0)
    assert rig.store.miss_of(key(0)).reason is TierMissReason.GONE
    assert rig.counts([key(0)]) == (0, 0)
    assert rig.store.miss_of(key(0)).reason is TierMissReason.UNKNOWN_KEY


def test_erased_deferred_block_is_never_written(redis_server: RedisServer, rigs: Rigs) -> None:
    rig = rigs.open(redis_server.address)
    rig.put(keys(range(4)), deferred=True)
    settled(rig)
    until(lambda: not rig.store.erase(keys(range(2))))
    assert rig.store.flush(10)
    assert in_redis(redis_server, range(4)) == [2, 3]
    assert rig.store.stats().cpu.dropped_blocks == 0


def test_staging_pool_writes_every_block_at_once(redis_server: RedisServer, rigs: Rigs) -> None:
    rig = rigs.open(redis_server.address, cpu_bytes=0, keep_in_cpu=False)
    rig.put(keys(range(4)), deferred=True)
    until(lambda: in_redis(redis_server, range(4)) == [*range(4)])
