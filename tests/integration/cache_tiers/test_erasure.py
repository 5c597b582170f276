"""Erasure of blocks from host memory and Redis, also while the blocks are being read or written."""

from cache_tiers.owners.block_key import BlockKey
from cache_tiers.redis.keys import redis_key
from tests.redis_server import RedisServer
from tests.store_rig import Rig, Rigs, key, keys, on_each_memory
from tests.waiting import until

pytest_plugins = ["tests.store_fixtures"]
pytestmark = on_each_memory


def in_redis(redis_server: RedisServer) -> set[bytes]:
    with redis_server.client() as client:
        return set(client.scan_iter(b"ebb:kv:*"))


def names(wanted: list[BlockKey]) -> set[bytes]:
    return {redis_key(each) for each in wanted}


def erase(rig: Rig, wanted: list[BlockKey]) -> None:
    """Retry the erasure until no block is busy, as the tier manager does."""
    until(lambda: not rig.store.erase(wanted))


def test_erase_removes_only_its_blocks_from_both_tiers(redis_server: RedisServer, rigs: Rigs) -> None:
    rig = rigs.open(redis_server.address)
    rig.put(keys(range(8)))
    assert rig.store.flush(10)
    erase(rig, [key(2), key(5), key(99)])
    left = [key(number) for number in (0, 1, 3, 4, 6, 7)]
    until(lambda: in_redis(redis_server) == names(left))
    assert [rig.store.contains(key(number)) for number in range(8)] == [n not in (2, 5) for n in range(8)]
    assert rig.store.num_known_below(keys(range(8))) == 2
    assert rig.counts(keys(range(8))) == (2, 0)
    rig.store.check()


def test_erase_removes_blocks_that_are_only_in_redis(redis_server: RedisServer, rigs: Rigs) -> None:
    rig = rigs.open(redis_server.address)
    rig.put(keys(range(4)))
    assert rig.store.flush(10)
    until(rig.store.clear_cpu)
    assert rig.store.erase(keys(range(2, 4))) == []
    until(lambda: in_redis(redis_server) == names(keys(range(2))))


def test_block_being_read_is_erased_after_its_release(redis_server: RedisServer, rigs: Rigs) -> None:
    rig = rigs.open(redis_server.address)
    rig.put(keys(range(2)))
    assert rig.store.flush(10)
    result = rig.wait(rig.store.prefetch(keys(range(1)), lower=True))
    until(lambda: rig.store.erase(keys(range(2))) == [key(0)])
    assert rig.store.contains(key(0))
    until(lambda: in_redis(redis_server) == names([key(0)]))
    rig.store.release([slot.key for slot in result.slots])
    assert rig.store.erase([key(0)]) == []
    until(lambda: not in_redis(redis_server))
    rig.store.check()


def test_reserved_block_is_busy_until_discarded(redis_server: RedisServer, rigs: Rigs) -> None:
    rig = rigs.open(redis_server.address)
    rig.store.reserve([key(0)])
    assert rig.store.erase([key(0)]) == [key(0)]
    rig.store.discard([key(0)])
    assert rig.store.erase([key(0)]) == []
    rig.store.check()


def test_write_under_way_does_not_restore_an_erased_block(redis_server: RedisServer, rigs: Rigs) -> None:
    rig = rigs.open(redis_server.address)
    redis_server.freeze()
    rig.put(keys(range(16)))
    until(lambda: not rig.store._lower.awaits_put(key(0)))
    assert key(0) in rig.store.erase(keys(range(16)))
    redis_server.thaw()
    erase(rig, keys(range(16)))
    assert rig.store.flush(10)
    rig.put([key(99)])
    assert rig.store.flush(10)
    until(lambda: in_redis(redis_server) == names([key(99)]))
    assert rig.store.stats().lower["redis"].failed_blocks == 0


def test_erased_block_can_be_stored_again(redis_server: RedisServer, rigs: Rigs) -> None:
    rig = rigs.open(redis_server.address)
    rig.put([key(0)])
    assert rig.store.flush(10)
    erase(rig, [key(0)])
    until(lambda: not in_redis(redis_server))
    rig.put([key(0)])
    assert rig.store.flush(10)
    assert in_redis(redis_server) == names([key(0)])


def test_erase_without_redis_clears_host_memory(rigs: Rigs) -> None:
    rig = rigs.open(None)
    rig.put(keys(range(2)))
    assert rig.store.erase([key(1)]) == []
    assert (rig.store.contains(key(0)), rig.store.contains(key(1))) == (True, False)


def test_erase_does_not_wait_for_a_frozen_redis(redis_server: RedisServer, rigs: Rigs) -> None:
    rig = rigs.open(redis_server.address)
    rig.put([key(0)])
    assert rig.store.flush(10)
    redis_server.freeze()
    erase(rig, [key(0)])
    assert not rig.store.contains(key(0))


def test_flush_does_not_wait_for_erased_blocks(redis_server: RedisServer, rigs: Rigs) -> None:
    rig = rigs.open(redis_server.address)
    for number in range(40):
        rig.put([key(number)])
        erase(rig, [key(number)])
    assert rig.store.flush(10), "the flush waited for an erased block"
    until(lambda: not in_redis(redis_server))


def test_flush_waits_for_erasures(redis_server: RedisServer, rigs: Rigs) -> None:
    rig = rigs.open(redis_server.address)
    rig.put([key(0)])
    assert rig.store.flush(10)
    redis_server.freeze()
    erase(rig, [key(0)])
    assert not rig.store.flush(0.05)
    redis_server.thaw()
    assert rig.store.flush(10)
    assert not in_redis(redis_server)


def outcome(rig: Rig) -> bool:
    """Wait for the lower tiers' answer to an erasure."""
    [(_, erased)] = until(lambda: rig.store.poll_erased() or None)
    return erased


def test_erasure_that_redis_missed_is_reported(redis_server: RedisServer, rigs: Rigs) -> None:
    rig = rigs.open(redis_server.address)
    rig.put(keys(range(2)))
    assert rig.store.flush(10)
    redis_server.freeze()
    until(lambda: rig.store.erase([key(0)]) == [])
    assert not outcome(rig), "Redis did not answer"
    assert not rig.store.erase([key(0)])
    assert not outcome(rig), "Redis was skipped"
    redis_server.thaw()
    rig.until_stats(lambda stats: stats.lower["redis"].state == "ok")
    assert rig.store.erase([key(0)]) == []
    assert outcome(rig)
    assert in_redis(redis_server) == names([key(1)])


def test_erasure_that_redis_refuses_is_reported(redis_server: RedisServer, rigs: Rigs) -> None:
    rig = rigs.open(redis_server.address)
    rig.put([key(0)])
    assert rig.store.flush(10)
    with redis_server.client() as client:
        client.config_set("min-replicas-to-write", 1)
    rig.store.erase([key(0)])
    assert not outcome(rig)
    assert rig.store.stats().lower["redis"].refusal.startswith("UNLINK: NOREPLICAS")


def test_erasure_without_lower_tiers_is_done(rigs: Rigs) -> None:
    rig = rigs.open(None)
    rig.put([key(0)])
    assert rig.store.erase([key(0)]) == []
    assert outcome(rig)
