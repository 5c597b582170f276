"""The Redis tier behind the store, with a healthy Redis."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from cache_tiers.redis.address import RedisAddress, parse_redis_url
from cache_tiers.redis.keys import redis_key
from cache_tiers.tier import BLOCK_TTL_SECONDS
from tests.redis_server import RedisServer, free_port
from tests.store_rig import BLOCK, POOL, Rig, Rigs, key, keys, on_each_memory
from tests.tls_files import TlsFiles, make_tls_files
from tests.waiting import until

pytest_plugins = ["tests.store_fixtures"]

NEEDED = "+exists +get +set +expire +unlink"


def filled(rigs: Rigs, address: RedisAddress, numbers: range) -> None:
    """Store the blocks in Redis with a store that is closed afterwards."""
    rig = rigs.open(address)
    assert rig.put(keys(numbers)) == keys(numbers)
    assert rig.store.flush(10)
    rigs.close(rig)


@on_each_memory
def test_new_store_loads_every_block_from_redis_bit_for_bit(redis_server: RedisServer, rigs: Rigs) -> None:
    filled(rigs, redis_server.address, range(20))
    rig = rigs.open(redis_server.address)
    assert rig.counts(keys(range(8)), lower=False) == (0, 0)
    assert rig.counts(keys(range(8))) == (0, 8)
    assert rig.counts(keys(range(8, 16))) == (0, 8)
    assert rig.counts(keys(range(16, 24))) == (0, 4)
    assert rig.store.stats().lower["redis"].loaded_blocks == 20


def test_another_process_finds_every_block(redis_server: RedisServer, rigs: Rigs) -> None:
    writer = (
        "from pathlib import Path\n"
        "from cache_tiers.redis.address import RedisAddress\n"
        "from tests.store_rig import Rigs, keys\n"
        f"rig = Rigs().open(RedisAddress(unix_path=Path({str(redis_server.socket)!r})))\n"
        "assert len(rig.put(keys(range(8)))) == 8\n"
        "assert rig.store.flush(10)\n"
        "import os; os._exit(0)\n"
    )
    environment = {**os.environ, "PYTHONHASHSEED": "7"}
    subprocess.run([sys.executable, "-c", writer], check=True, cwd=Path(__file__).parents[4], env=environment)
    assert rigs.open(redis_server.address).counts(keys(range(8))) == (0, 8)


@on_each_memory
def test_blocks_loaded_from_redis_stay_in_the_cpu_tier(redis_server: RedisServer, rigs: Rigs) -> None:
    filled(rigs, redis_server.address, range(8))
    rig = rigs.open(redis_server.address)
    assert rig.counts(keys(range(8))) == (0, 8)
    assert rig.counts(keys(range(8))) == (8, 0)
    assert rig.store.contains(key(7))


@on_each_memory
def test_hit_may_begin_on_the_cpu_and_continue_in_redis(redis_server: RedisServer, rigs: Rigs) -> None:
    filled(rigs, redis_server.address, range(8))
    rig = rigs.open(redis_server.address)
    rig.fetch(keys(range(3)))
    assert rig.counts(keys(range(8))) == (3, 5)


@on_each_memory
def test_hit_ends_at_the_first_missing_block(redis_server: RedisServer, rigs: Rigs) -> None:
    filled(rigs, redis_server.address, range(4))
    with redis_server.client() as client:
        client.delete(redis_key(key(2)))
    assert rigs.open(redis_server.address).counts(keys(range(4))) == (0, 2)


def test_committed_block_is_in_redis_within_a_second(redis_server: RedisServer, rigs: Rigs) -> None:
    rig = rigs.open(redis_server.address)
    with redis_server.client() as client:
        for number in range(50):
            began = time.monotonic()
            name = redis_key(key(number))
            rig.put([key(number)])
            while not client.exists(name):
                assert time.monotonic() - began < 1.0
        stats = rig.until_stats(lambda stats: stats.pending_writes == 0)
    assert (
        stats.lower["redis"].stored_blocks,
        stats.lower["redis"].failed_blocks,
        stats.lower["redis"].write_lag_seconds,
    ) == (50, 0, 0.0)


@on_each_memory
def test_flush_waits_for_every_block(redis_server: RedisServer, rigs: Rigs) -> None:
    rig = rigs.open(redis_server.address)
    rig.put(keys(range(100)))
    assert rig.store.flush(10)
    with redis_server.client() as client:
        assert client.dbsize() == 100


@on_each_memory
def test_staging_pool_keeps_no_blocks(redis_server: RedisServer, rigs: Rigs) -> None:
    rig = rigs.open(redis_server.address, cpu_bytes=0, keep_in_cpu=False)
    assert rig.store.pool.nbytes == 64 << 20
    rig.put(keys(range(8)))
    rig.until_stats(lambda stats: stats.lower["redis"].stored_blocks == 8)
    for _ in range(2):
        until(lambda: not any(map(rig.store.contains, keys(range(8)))))
        assert rig.counts(keys(range(8))) == (0, 8)


@on_each_memory
def test_staging_pool_stores_more_than_its_size(redis_server: RedisServer, rigs: Rigs) -> None:
    rig = rigs.open(redis_server.address, cpu_bytes=0, keep_in_cpu=False)
    todo = keys(range(2000))
    assert len(todo) * BLOCK > rig.store.pool.nbytes

    def put_some() -> bool:
        del todo[: len(rig.put(todo[:64]))]
        return not todo

    until(put_some)
    assert rig.store.flush(20)
    with redis_server.client() as client:
        assert client.dbsize() == 2000


@on_each_memory
def test_staging_pool_recovers_after_writes_during_an_outage(redis_server: RedisServer, rigs: Rigs) -> None:
    rig = rigs.open(redis_server.address, cpu_bytes=0, keep_in_cpu=False)
    redis_server.kill()
    todo = keys(range(1500))
    assert len(todo) * BLOCK > rig.store.pool.nbytes

    def put_some() -> bool:
        del todo[: len(rig.put(todo[:64]))]
        return not todo

    until(put_some)
    redis_server.start()
    rig.until_stats(lambda stats: stats.lower["redis"].state == "ok")
    until(lambda: not rig.store.write_missed(begin=True))
    rig.put(keys(range(2000, 2008)))
    assert rig.store.flush(20)
    assert sum(rig.counts(keys(range(2000, 2008)))) == 8


@on_each_memory
def test_blocks_evicted_from_the_cpu_are_loaded_from_redis(redis_server: RedisServer, rigs: Rigs) -> None:
    rig = rigs.open(redis_server.address)
    for at, name in enumerate(keys(range(320))):
        rig.put([name])
        if at % 16 == 15:
            # Writes that fill more than half of the pool are shed, which another test covers.
            assert rig.store.flush(10)
    assert not rig.store.contains(key(0))
    assert rig.counts(keys(range(8))) == (0, 8), "the CPU tier must make room for the loaded blocks"


@on_each_memory
def test_cpu_tier_of_two_blocks_stores_every_block_in_redis(redis_server: RedisServer, rigs: Rigs) -> None:
    rig = rigs.open(redis_server.address, cpu_bytes=2 * BLOCK)
    todo = keys(range(12))

    def put_next() -> bool:
        del todo[: len(rig.put(todo[:1]))]
        return not todo

    until(put_next)
    assert rig.store.flush(10)
    with redis_server.client() as client:
        assert client.dbsize() == 12
    for name in keys(range(12)):
        assert rig.counts([name]) in ((1, 0), (0, 1))


@on_each_memory
def test_concurrent_prefetches_get_their_own_windows(redis_server: RedisServer, rigs: Rigs) -> None:
    filled(rigs, redis_server.address, range(64))
    rig = rigs.open(redis_server.address)
    windows = [keys(range(start, start + 8)) for start in range(0, 64, 8)] * 3
    handles = [rig.store.prefetch(window, lower=True) for window in windows]
    for window, handle in zip(windows, handles, strict=True):
        slots = rig.wait(handle).slots
        assert [slot.key for slot in slots] == window
    for window in windows:
        assert rig.counts(window) == (8, 0)
        rig.store.release(window)


@on_each_memory
def test_many_prefetches_of_one_window_get_every_block(redis_server: RedisServer, rigs: Rigs) -> None:
    """Let the blocks of the first prefetch arrive while the others are between look-up and load."""
    filled(rigs, redis_server.address, range(96))
    rig = rigs.open(redis_server.address)
    for start in range(0, 96, 8):
        window = keys(range(start, start + 8))
        for handle in [rig.store.prefetch(window, lower=True) for _ in range(16)]:
            assert [slot.key for slot in rig.wait(handle).slots] == window
            rig.store.release(window)


@on_each_memory
def test_unclaimed_result_fails_the_check_until_released(redis_server: RedisServer, rigs: Rigs) -> None:
    filled(rigs, redis_server.address, range(8))
    rig = rigs.open(redis_server.address)
    handle = rig.store.prefetch(keys(range(8)), lower=True)
    with pytest.raises(AssertionError, match="prefetches"):
        rig.store.check()
    rig.store.release([slot.key for slot in rig.wait(handle).slots])
    rig.store.check()


def test_block_expires_seven_days_after_its_last_use(redis_server: RedisServer, rigs: Rigs) -> None:
    filled(rigs, redis_server.address, range(1))
    with redis_server.client() as client:
        assert BLOCK_TTL_SECONDS - 60 < client.ttl(redis_key(key(0))) <= BLOCK_TTL_SECONDS
        client.expire(redis_key(key(0)), 1000)
        assert rigs.open(redis_server.address).counts(keys(range(1))) == (0, 1)
        assert client.ttl(redis_key(key(0))) > BLOCK_TTL_SECONDS - 60


def test_statistics_report_the_memory_of_the_server(tmp_path: Path, rigs: Rigs) -> None:
    server = RedisServer(tmp_path, "--maxmemory", "100mb", "--maxmemory-policy", "allkeys-lru")
    try:
        rig = rigs.open(server.address)
        assert rig.store.stats().lower["redis"].capacity_bytes == 100 << 20
        rig.put(keys(range(100)))
        rig.until_stats(lambda stats: stats.lower["redis"].used_bytes > 100 * BLOCK)
        assert rig.store.stats().cpu.capacity_bytes == POOL
        assert rig.store.stats().lower["redis"].evicted_blocks == 0
        with server.client() as client:
            client.config_set("maxmemory", 50 * BLOCK)
        rig.until_stats(lambda stats: stats.lower["redis"].evicted_blocks > 0)
    finally:
        server.kill()


def test_settings_of_the_server_are_left_alone(redis_server: RedisServer, rigs: Rigs) -> None:
    with redis_server.client() as client:
        before = client.config_get("*")
        filled(rigs, redis_server.address, range(8))
        assert rigs.open(redis_server.address).counts(keys(range(8))) == (0, 8)
        assert client.config_get("*") == before


@pytest.fixture(scope="module")
def tls_files(tmp_path_factory: pytest.TempPathFactory) -> TlsFiles:
    return make_tls_files(tmp_path_factory.mktemp("tls"))


def round_trip(rigs: Rigs, address: RedisAddress) -> Rig:
    """Store blocks at `address`, load them into a second store, and return that store's rig."""
    filled(rigs, address, range(3))
    rig = rigs.open(address)
    assert rig.counts(keys(range(3))) == (0, 3)
    return rig


@pytest.mark.parametrize("form", ["redis://127.0.0.1:{port}", "redis://localhost:{port}/3", "unix://{socket}?db=2"])
def test_every_form_of_address_works(tmp_path: Path, rigs: Rigs, form: str) -> None:
    server = RedisServer(tmp_path, port=free_port())
    try:
        round_trip(rigs, parse_redis_url(form.format(port=server.port, socket=server.socket)))
    finally:
        server.kill()


@pytest.mark.parametrize("options", ["?ssl_ca_certs={ca}", "?ssl_cert_reqs=none"])
def test_tls_connection_stores_and_loads_blocks(tmp_path: Path, rigs: Rigs, tls_files: TlsFiles, options: str) -> None:
    port = free_port()
    server = RedisServer(tmp_path, "--tls-port", str(port), *tls_files.server_arguments)
    try:
        round_trip(rigs, parse_redis_url(f"rediss://localhost:{port}{options.format(ca=tls_files.authority)}"))
    finally:
        server.kill()


def test_server_with_an_untrusted_certificate_is_not_used(tmp_path: Path, rigs: Rigs, tls_files: TlsFiles) -> None:
    port = free_port()
    server = RedisServer(tmp_path, "--tls-port", str(port), *tls_files.server_arguments)
    try:
        rig = rigs.open(parse_redis_url(f"rediss://localhost:{port}"))
        assert "certificate verify failed" in rig.store.stats().lower["redis"].state
        assert rig.put(keys(range(3))) == keys(range(3))
        assert rig.counts(keys(range(3))) == (3, 0)
    finally:
        server.kill()


def test_password_is_required_and_used(tmp_path: Path, rigs: Rigs) -> None:
    server = RedisServer(tmp_path, "--requirepass", "s3cret", password="s3cret")
    try:
        round_trip(rigs, RedisAddress(unix_path=server.socket, password="s3cret"))
        for wrong in (None, "wrong"):
            rig = rigs.open(RedisAddress(unix_path=server.socket, password=wrong))
            assert rig.store.stats().lower["redis"].state.startswith("Redis refuses ")
            assert rig.counts(keys(range(3))) == (0, 0)
    finally:
        server.kill()


@pytest.mark.parametrize("commands", ["+@all", f"{NEEDED} +getex", NEEDED])
def test_user_with_minimal_rights_stores_and_loads_blocks(tmp_path: Path, rigs: Rigs, commands: str) -> None:
    """Use six commands on keys that begin with `ebb:`, or five where GETEX is forbidden or unknown."""
    server = RedisServer(tmp_path, "--user", "ebb", "on", ">pw", "~ebb:*", *commands.split())
    try:
        round_trip(rigs, RedisAddress(unix_path=server.socket, username="ebb", password="pw"))
    finally:
        server.kill()


@on_each_memory
def test_concurrent_loads_find_room_in_a_full_cpu_tier(redis_server: RedisServer, rigs: Rigs) -> None:
    rig, blocks, at_once = rigs.open(redis_server.address), POOL // BLOCK, 6
    for start in range(0, 2 * blocks, 16):
        assert len(rig.put(keys(range(start, start + 16)))) == 16
        assert rig.store.flush(10)
    windows = [keys(range(start, start + 8)) for start in range(0, 8 * at_once, 8)]
    assert not any(rig.store.contains(name) for window in windows for name in window)
    handles = [rig.store.prefetch(window, lower=True) for window in windows]
    results = [rig.wait(handle) for handle in handles]
    for result in results:
        rig.store.release([slot.key for slot in result.slots])
    assert [len(result.slots) for result in results] == [8] * at_once
