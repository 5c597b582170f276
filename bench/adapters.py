"""`python -m bench.adapters`: restore speed from Redis of Ebb and of LMCache's adapter, and Ebb's own host memory.

One Redis, on loopback TCP and the same cores, holds the blocks of a prompt of 4,096 tokens. Each round restores all of
them once through each of the two. Only Ebb verifies the blocks, and only its reads renew their expiry.

Then the host memory that Ebb manages itself and the one on LMCache take the same blocks in turns, without Redis.
"""

# mypy: disable-error-code="import-untyped"

import argparse
import hashlib
import os
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Final

import redis

from bench.cold import empty_cpu
from bench.machine import describe_machine
from bench.report import RESULTS, write_results
from bench.server import free_port
from bench.stats import median
from cache_tiers.cpu_store.block_memory import MemoryKind
from cache_tiers.cpu_store.lmcache_memory import LMCACHE
from cache_tiers.cpu_store.open_store import open_store
from cache_tiers.cpu_store.plain_memory import PLAIN
from cache_tiers.cpu_store.tier_store import TierStore
from cache_tiers.lower.sealed_value import FINGERPRINT_BYTES, BlockSeal
from cache_tiers.moves.load_cost import LoadCost
from cache_tiers.moves.loads import WINDOWS_AHEAD
from cache_tiers.owners.block_key import BlockKey
from cache_tiers.redis.address import RedisAddress
from cache_tiers.redis.backend import RedisBackend
from cache_tiers.redis.server_binary import KEEP_PAGES, find_redis_server
from cache_tiers.store import KVTierStore

BLOCK_BYTES: Final = 30 * 2 * 3 * 64 * 64 * 2
BLOCKS: Final = 64
ROUNDS: Final = 30
RESP_WORKERS: Final = (1, 4, 8)
"""8 is LMCache's default."""
POOL_BYTES: Final = 400 << 20
_SECONDS: Final = 60.0

Restore = Callable[[], None]


@contextmanager
def redis_server(folder: Path) -> Iterator[int]:
    """Run a Redis without persistence and with the companion's allocator settings, and yield its port."""
    binary, port = find_redis_server(), free_port()
    assert binary is not None, "this benchmark needs redis-server on PATH"
    command = [str(binary), "--port", str(port), "--save", "", "--dir", str(folder)]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, env=os.environ | KEEP_PAGES) as process:
        try:
            wait_until(lambda: is_up(port))
            yield port
        finally:
            process.terminate()


def is_up(port: int) -> bool:
    """Return whether a Redis listens on `port`."""
    try:
        with redis.Redis(port=port) as client:
            return bool(client.ping())
    except redis.ConnectionError:
        return False


def wait_until(condition: Callable[[], object]) -> None:
    """Poll `condition` every 0.2 ms. Raise TimeoutError after a minute."""
    deadline = time.monotonic() + _SECONDS
    while not condition():
        if time.monotonic() > deadline:
            raise TimeoutError("a restore did not end within a minute")
        time.sleep(0.0002)


def block_keys() -> list[BlockKey]:
    """Return the keys of all blocks."""
    return [BlockKey(hashlib.sha256(b"block %d" % number).digest()) for number in range(BLOCKS)]


def ebb(store: KVTierStore) -> Restore:
    """Restore as the tier manager does: in windows sized by the speed of the link."""
    keys, cost = block_keys(), LoadCost(BLOCK_BYTES)
    for slot in store.reserve(keys):
        store.pool[slot.offset : slot.offset + BLOCK_BYTES] = os.urandom(BLOCK_BYTES)
    store.commit(keys)
    assert store.flush(_SECONDS)

    def restore() -> None:
        empty_cpu(store)
        windows: list[tuple[int, int]] = []
        submitted = 0
        while submitted < BLOCKS or windows:
            if submitted < BLOCKS and len(windows) < WINDOWS_AHEAD:
                window = keys[submitted : submitted + cost.window(store.link_speed(), store.max_window)]
                windows.append((store.prefetch(window, lower=True), len(window)))
                submitted += len(window)
            else:
                take(store, *windows.pop(0))

    return restore


def take(store: KVTierStore, handle: int, length: int) -> None:
    """Wait for a whole window of `length` blocks, then release it."""
    while (result := store.poll(handle)) is None:
        time.sleep(0.0002)
    assert result.sources == ("redis",) * length
    store.release([slot.key for slot in result.slots])


def lmcache_resp(port: int, workers: int, stack: ExitStack) -> Restore:
    """Restore with LMCache's storage manager and its RESP adapter, all blocks in one task."""
    from lmcache.v1.distributed import api, config
    from lmcache.v1.distributed.l2_adapters import config as adapters
    from lmcache.v1.distributed.l2_adapters.resp_l2_adapter import RESPL2AdapterConfig
    from lmcache.v1.distributed.storage_manager import StorageManager

    memory = config.L1MemoryManagerConfig(size_in_bytes=POOL_BYTES, use_lazy=False, shm_name="")
    manager = StorageManager(
        config.StorageManagerConfig(
            l1_manager_config=config.L1ManagerConfig(memory),
            eviction_config=config.EvictionConfig("LRU", trigger_watermark=0.9, eviction_ratio=0.1),
            l2_adapter_config=adapters.L2AdaptersConfig([RESPL2AdapterConfig("127.0.0.1", port, num_workers=workers)]),
            store_policy="default",
            prefetch_policy="retain",
        )
    )
    stack.callback(manager.close)
    import torch

    layout = api.MemoryLayoutDesc([torch.Size([BLOCK_BYTES])], [torch.uint8])
    names = [api.ObjectKey(chunk_hash=key, model_name=f"resp{workers}", kv_rank=0) for key in block_keys()]
    task = api.PrefetchTaskSpec([api.GroupedObjectKeys(names, 0, layout)])
    manager.reserve_write(names, layout)
    manager.finish_write(names)
    with redis.Redis(port=port) as client:
        wait_until(lambda: len(client.keys(f"*resp{workers}*")) == BLOCKS)
    time.sleep(1.0)  # The storage manager releases its write locks shortly after the writes.

    def restore() -> None:
        manager.clear()
        handle = manager.submit_prefetch_task(task)
        while (result := manager.query_prefetch_status(handle)) is None:
            time.sleep(0.0002)
        assert result.l2_hit_count == BLOCKS, result
        manager.finish_read_prefetched(names)

    return restore


def open_own(kind: MemoryKind, lower: Sequence[RedisBackend] = ()) -> TierStore:
    """Open a store as the engine does."""
    return open_store(
        block_nbytes=BLOCK_BYTES,
        cpu_bytes=POOL_BYTES,
        lower=lower,
        seal=BlockSeal(b"of the benchmark", bytes(FINGERPRINT_BYTES)),
        keep_in_cpu=True,
        eviction="lru",
        kind=kind,
    )


def memory_seconds(store: TierStore) -> dict[str, float]:
    """Measure seconds per block of a store without lower tiers, into which all blocks go once and come back."""
    keys = block_keys()
    began = time.perf_counter()
    store.commit([slot.key for slot in store.reserve(keys)])
    stored = time.perf_counter()
    for start in range(0, BLOCKS, store.max_window):
        window = keys[start : start + store.max_window]
        assert store.poll(store.prefetch(window, lower=False)) is not None
        store.release(window)
    ended = time.perf_counter()
    assert store.clear_cpu()
    return {"reserve and commit": (stored - began) / BLOCKS, "prefetch, poll and release": (ended - stored) / BLOCKS}


def compare_memory(rounds: int) -> dict[str, float]:
    """Return the median time of Ebb's own host memory over that of LMCache's, per block, by operation."""
    with closing(open_own(PLAIN)) as plain, closing(open_own(LMCACHE)) as lmcache:
        turns = [(memory_seconds(plain), memory_seconds(lmcache)) for _ in range(rounds + 1)][1:]
    return {name: median([mine[name] / theirs[name] for mine, theirs in turns]) for name in turns[0][0]}


def measure(restores: dict[str, Restore], rounds: int) -> dict[str, list[float]]:
    """Measure GB/s of each restore, by round.

    The first round touches memory and is dropped. The order rotates between rounds, so that none profits from the
    caches that its predecessor filled.
    """
    found: dict[str, list[float]] = {name: [] for name in restores}
    for number in range(rounds + 1):
        first = number % len(restores)
        for name in [*list(restores)[first:], *list(restores)[:first]]:
            began = time.perf_counter()
            restores[name]()
            seconds = time.perf_counter() - began
            if number:
                found[name].append(BLOCKS * BLOCK_BYTES / seconds / 1e9)
    return found


def main(argv: Sequence[str] | None = None) -> int:
    """Measure, print, and write adapters.json and adapters.md. Return 1 if a target is missed."""
    parser = argparse.ArgumentParser(prog="python -m bench.adapters", description=__doc__)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--out", type=Path, default=RESULTS)
    arguments = parser.parse_args(argv)
    with tempfile.TemporaryDirectory(prefix="ebb-adapters-") as folder, ExitStack() as stack:
        port = stack.enter_context(redis_server(Path(folder)))
        store = stack.enter_context(closing(open_own(LMCACHE, [RedisBackend(RedisAddress(port=port))])))
        restores = {
            "Ebb": ebb(store),
            **{f"LMCache resp, workers: {count}": lmcache_resp(port, count, stack) for count in RESP_WORKERS},
        }
        found = measure(restores, arguments.rounds)
    return report(found, compare_memory(arguments.rounds), arguments.out)


def report(found: dict[str, list[float]], memory: dict[str, float], out: Path) -> int:
    """Print and write the results. Return 1 if a target is missed."""
    own = found["Ebb"]
    ratios = {
        name: median([mine / theirs for mine, theirs in zip(own, rates, strict=True)]) for name, rates in found.items()
    }
    lines = ["| | GB/s, median | Ebb over it, median of rounds |", "| --- | ---: | ---: |"]
    lines += [f"| {name} | {median(rates):.2f} | {ratios[name]:.2f} |" for name, rates in found.items()]
    lines += ["", "| host memory, per block | Ebb's own over LMCache's, median of rounds |", "| --- | ---: |"]
    lines += [f"| {name} | {ratio:.2f} |" for name, ratio in memory.items()]
    text = "\n".join(lines) + "\n"
    print(text)
    result = {"machine": asdict(describe_machine()), "blocks": BLOCKS, "gb_per_second": found, "ratios": ratios}
    result["memory_ratios"] = memory
    write_results(out, "adapters", result, text)
    stock = min(ratio for name, ratio in ratios.items() if name.startswith("LMCache"))
    return 0 if stock >= 1.0 and max(memory.values()) <= 0.5 else 1


if __name__ == "__main__":
    raise SystemExit(main())
