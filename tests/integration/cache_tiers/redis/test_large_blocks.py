"""Blocks split over several Redis values: found whole or not at all."""

from collections.abc import Iterator
from contextlib import closing

import pytest

from cache_tiers.cpu_store.block_memory import MemoryKind
from cache_tiers.cpu_store.open_store import open_store
from cache_tiers.lower.async_tier import AsyncTier
from cache_tiers.lower.block import Block
from cache_tiers.lower.block_values import BlockValues
from cache_tiers.owners.block_key import BlockKey
from cache_tiers.redis.backend import RedisBackend
from cache_tiers.redis.inspection import RedisInspection
from cache_tiers.redis.keys import redis_key
from tests.redis_server import RedisServer
from tests.store_rig import SEAL, SECRET, Rig, on_each_memory, redis_tier
from tests.tier_results import Results
from tests.waiting import until

pytest_plugins = ["tests.store_fixtures"]

VALUES = 3
NBYTES = (1 << 16) + 5
FORM = BlockValues(SEAL, NBYTES, -(-NBYTES // VALUES))


def key(number: int) -> bytes:
    return bytes([number]) * 32


def names(number: int) -> list[bytes]:
    return [redis_key(each) for each in FORM.keys(key(number))]


def payload(number: int) -> bytes:
    return bytes((number + at) % 251 for at in range(NBYTES))


def opened(redis_server: RedisServer, block_nbytes: int) -> AsyncTier:
    return redis_tier(
        redis_server.address,
        max_write_bytes=1 << 22,
        block_nbytes=block_nbytes,
        max_value_bytes=-(-block_nbytes // VALUES),
        renew_seconds=0.0,
    )


@pytest.fixture
def client(redis_server: RedisServer) -> Iterator[AsyncTier]:
    """Client of a Redis that holds blocks 1 and 2."""
    client = opened(redis_server, NBYTES)
    client.put([Block(key(number), memoryview(payload(number))) for number in (1, 2)], lambda _stored: None)
    assert client.flush(10)
    yield client
    client.close()


def load(client: AsyncTier, *numbers: int) -> list[bytes | None]:
    loaded = Results[list[bool]]()
    targets = [Block(key(number), memoryview(bytearray(NBYTES))) for number in numbers]
    client.load(targets, loaded)
    [outcomes] = loaded.wait(1)
    assert isinstance(outcomes, list)
    return [bytes(target.payload) if whole else None for target, whole in zip(targets, outcomes, strict=True)]


def test_block_is_stored_in_parts_and_loaded_whole(redis_server: RedisServer, client: AsyncTier) -> None:
    with redis_server.client() as redis:
        assert set(redis.keys()) == {*names(1), *names(2)}
    inspection = RedisInspection(redis_server.address, SECRET, is_companion=False)
    assert inspection.verify(lambda _read: None).num_whole == 2 * VALUES
    assert load(client, 1, 3, 2) == [payload(1), None, payload(2)]


@pytest.mark.parametrize("at", range(VALUES))
def test_block_missing_one_value_is_a_miss_and_stored_again(
    redis_server: RedisServer, client: AsyncTier, at: int
) -> None:
    with redis_server.client() as redis:
        redis.delete(names(1)[at])
        assert load(client, 1, 2) == [None, payload(2)]
        client.put([Block(key(1), memoryview(payload(1)))], lambda _stored: None)
        assert client.flush(10)
    assert load(client, 1) == [payload(1)]


@pytest.mark.parametrize(("source", "target"), [((2, 1), (1, 1)), ((1, 2), (1, 1)), ((1, 0), (1, 1)), ((2, 0), (1, 0))])
def test_value_under_the_name_of_another_is_rejected(
    redis_server: RedisServer, client: AsyncTier, source: tuple[int, int], target: tuple[int, int]
) -> None:
    with redis_server.client() as redis:
        value = redis.get(names(source[0])[source[1]])
        assert isinstance(value, bytes)
        redis.set(names(target[0])[target[1]], value)
    assert load(client, 1, 2) == [None, payload(2)]
    assert client.stats().rejects == {"key": 1}


def test_renewal_and_erasure_cover_every_value_of_a_block(redis_server: RedisServer, client: AsyncTier) -> None:
    with redis_server.client() as redis:
        for name in names(1):
            redis.expire(name, 100)
        client.renew([key(1)])
        until(lambda: all(redis.ttl(name) > 1000 for name in names(1)))
        erased = Results[bool]()
        client.erase([key(1)], erased)
        assert erased.wait(1) == [True]
        assert set(redis.keys()) == {*names(2)}


@pytest.mark.parametrize("values_that_fit", range(VALUES))
def test_block_that_fits_only_in_part_is_removed(
    redis_server: RedisServer, client: AsyncTier, values_that_fit: int
) -> None:
    client.close()
    # Redis counts the buffers of its connections too. Half a value is far more than all of them, and a value of nearly
    # one mebibyte fills what the allocator reserves for it.
    nbytes_of_value = (1 << 20) - (1 << 12)
    large = opened(redis_server, VALUES * nbytes_of_value)
    with closing(large), redis_server.client() as redis:
        redis.config_set("maxmemory-policy", "noeviction")
        room = nbytes_of_value * values_that_fit + nbytes_of_value // 2
        redis.config_set("maxmemory", redis.info("memory")["used_memory"] + room)
        stored, found = Results[bool](), Results[list[bool]]()
        large.put([Block(key(3), memoryview(bytes(VALUES * nbytes_of_value)))], stored)
        assert stored.wait(1) == [False]
        assert set(redis.keys()) == {*names(1), *names(2)}
        large.find([key(3)], found)
        assert found.wait(1) == [[False]]


@on_each_memory
def test_tiers_store_and_load_blocks_of_five_mebibytes(redis_server: RedisServer, memory_kind: MemoryKind) -> None:
    nbytes = 5 << 20
    store = open_store(
        block_nbytes=nbytes,
        cpu_bytes=8 * nbytes,
        lower=[RedisBackend(redis_server.address)],
        seal=SEAL,
        keep_in_cpu=True,
        eviction="lru",
        kind=memory_kind,
    )
    rig, chain = Rig(store), [BlockKey(key(number)) for number in (1, 2)]
    try:
        for slot in store.reserve(chain):
            store.pool[slot.offset : slot.offset + nbytes] = slot.key[:1] * nbytes
        store.commit(chain)
        assert store.flush(20)
        with redis_server.client() as redis:
            assert redis.dbsize() == 6
        until(store.clear_cpu)
        result = rig.wait(store.prefetch(chain, lower=True))
        assert result.sources == ("redis", "redis")
        assert [store.pool[slot.offset + nbytes - 1] for slot in result.slots] == [1, 2]
        store.release(chain)
        store.check()
    finally:
        store.close()
