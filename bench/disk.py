"""`python -m bench.disk`: the disk tier against Redis, against the disk alone, and against no disk, each in turns.

- Values written and read cold through the whole tier, seal included, against Redis on a unix socket, warm.
- The same reads against plain direct reads of the same files by as many threads: the part that the tier costs.
- Streams with the disk on against streams with CPU memory and Redis alone: the cost of writing each block once more.

The first token after a restart is measured by `bench.turns`. Returns 1 if a target is missed.
"""

import argparse
import asyncio
import hashlib
import mmap
import os
import tempfile
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AsyncExitStack
from dataclasses import asdict
from pathlib import Path
from queue import SimpleQueue
from typing import Final

from app.load.client import Generation
from bench.agent_turns import rate_of
from bench.ending import run_to_end
from bench.machine import describe_machine
from bench.report import RESULTS, Target, show_results
from bench.server import EbbServer, ServerSettings, settle
from bench.stats import median
from bench.workload import question
from cache_tiers.disk.backend import DiskBackend
from cache_tiers.lower.async_tier import AsyncTier
from cache_tiers.lower.block import Block
from cache_tiers.lower.sealed_value import FINGERPRINT_BYTES, BlockSeal
from cache_tiers.lower.tier import LowerTierOptions
from cache_tiers.owners.owners import Owners
from cache_tiers.redis.backend import RedisBackend
from tests.redis_server import RedisServer

SIZES: Final = {1_474_560: 96, 8 << 20: 16}
"""Bytes of a block, and blocks per round. The first is a block of the default model."""
LANES: Final = 4
FLAGS: Final = ("--kv-memory", "512MiB", "--cpu-kv-memory", "1GiB", "--redis-memory", "1GiB", "--no-speculation")
STREAMS: Final = 8
STREAM_TOKENS: Final = 192
GIB: Final = 1 << 30
CLAIMS: Final = {
    "write": ("write, as a share of Redis'", 0.6, True),
    "read": ("cold read, as a share of Redis' warm one", 0.6, True),
    "plain": ("read, as a share of plain direct reads", 0.85, True),
    "cpu_per_gib": ("CPU s per GiB read", 0.36, False),
}
"""What a round measures, with its bound, and whether that is a lower one."""


class Side:
    """A tier, and blocks to write to it and to read from it."""

    def __init__(self, tier: AsyncTier, memory: memoryview, nbytes: int, count: int) -> None:
        self.tier = tier
        keys = [b"somebody" + hashlib.sha256(b"%d" % number).digest()[:24] for number in range(count)]
        self._blocks = [Block(key, memory[at * nbytes : (at + 1) * nbytes]) for at, key in enumerate(keys)]
        self._nbytes = nbytes * count

    def write(self) -> float:
        """Erase all blocks and write them again. Return bytes per second."""
        self._call(lambda done: self.tier.erase([block.key for block in self._blocks], done))
        return self._nbytes / self._call(lambda done: self.tier.put(self._blocks, done))

    def read(self) -> tuple[float, float]:
        """Read all blocks. Return bytes per second, and seconds of the processor per GiB."""
        before = time.process_time()
        seconds = self._call(lambda done: self.tier.load(self._blocks, lambda found: done(all(found))))
        return self._nbytes / seconds, (time.process_time() - before) / self._nbytes * GIB

    @staticmethod
    def _call(operation: Callable[[Callable[[bool], None]], None]) -> float:
        results = SimpleQueue[bool]()
        began = time.perf_counter()
        operation(results.put)
        assert results.get(), "a block was not stored or not found"
        return time.perf_counter() - began


def _plain_read(files: Sequence[Path], nbytes: int) -> float:
    """Read files past the page cache with as many threads as the tier has lanes. Return bytes per second."""
    memory = [mmap.mmap(-1, nbytes + 4096, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | mmap.MAP_POPULATE) for _ in files]

    def read(file: Path, to: mmap.mmap) -> int:
        descriptor = os.open(file, os.O_RDONLY | os.O_DIRECT)
        try:
            return os.preadv(descriptor, [to], 0)
        finally:
            os.close(descriptor)

    with ThreadPoolExecutor(LANES) as threads:
        began = time.perf_counter()
        total = sum(threads.map(read, files, memory))
    return total / (time.perf_counter() - began)


def measure_values(root: Path, nbytes: int, count: int, rounds: int) -> dict[str, list[float]]:
    """Return the ratios of each round by what they compare."""
    memory = memoryview(mmap.mmap(-1, nbytes * count))
    memory[:] = os.urandom(nbytes * count)
    options = LowerTierOptions(nbytes, 2 * nbytes * count, BlockSeal(b"secret", bytes(FINGERPRINT_BYTES)), Owners())
    redis, disk = RedisServer(root), DiskBackend(root / "kv", 8 * GIB, kept_free=0)
    tiers = [AsyncTier(RedisBackend(redis.address), options), AsyncTier(disk, options)]
    found: dict[str, list[float]] = {name: [] for name in CLAIMS}
    try:
        of_redis, of_disk = (Side(tier, memory, nbytes, count) for tier in tiers)
        for number in range(rounds + 1):
            sides = (of_redis, of_disk)[:: 1 if number % 2 else -1]
            writes = {side: side.write() for side in sides}
            reads = {side: side.read() for side in sides}
            plain = _plain_read([path for path in (root / "kv").rglob("*") if len(path.name) == 64], nbytes)
            if number:  # The first round warms both up.
                found["write"].append(writes[of_disk] / writes[of_redis])
                found["read"].append(reads[of_disk][0] / reads[of_redis][0])
                found["plain"].append(reads[of_disk][0] / plain)
                found["cpu_per_gib"].append(reads[of_disk][1])
    finally:
        for tier in tiers:
            tier.close()
        disk.close()
        redis.kill()
    return found


async def measure_streams(root: Path, rounds: int) -> list[float]:
    """Return the rate of streams with a disk as a share of that without, by round."""
    async with AsyncExitStack() as stack:
        servers = {}
        for name, size in (("without", "0"), ("with", "4GiB")):
            settings = ServerSettings(name, (*FLAGS, "--disk-kv-size", size))
            servers[name] = await stack.enter_async_context(EbbServer(settings, root / name))
        ratios = []
        for number in range(rounds + 1):
            rates = {}
            for name in ("without", "with")[:: 1 if number % 2 else -1]:
                prompts = [question(120, f"disk/{number}/{each}") for each in range(STREAMS)]
                asked = (
                    servers[name].client.chat([{"role": "user", "content": prompt}], Generation(STREAM_TOKENS))
                    for prompt in prompts
                )
                rates[name] = sum(rate_of(answer) for answer in await asyncio.gather(*asked))
                await settle(servers[name], 10)
            if number:
                ratios.append(rates["with"] / rates["without"])
        return ratios


def main(argv: Sequence[str] | None = None) -> int:
    """Measure, print and write. Return 1 if a target is missed."""
    parser = argparse.ArgumentParser(prog="python -m bench.disk", description=__doc__)
    parser.add_argument("--out", type=Path, default=RESULTS)
    parser.add_argument("--folder", type=Path, default=Path(), help="a folder on the disk to measure")
    parser.add_argument("--rounds", type=int, default=20)
    arguments = parser.parse_args(argv)
    targets, rounds = list[Target](), dict[str, list[float]]()
    with tempfile.TemporaryDirectory(dir=arguments.folder, prefix="ebb-disk-", ignore_cleanup_errors=True) as made:
        root = Path(made).resolve()
        for nbytes, count in SIZES.items():
            place = root / str(nbytes)
            place.mkdir()
            found = measure_values(place, nbytes, count, arguments.rounds)
            name = f"{nbytes / 1e6:.1f} MB"
            rounds |= {f"{name} {what}": values for what, values in found.items()}
            targets += [
                Target(f"{name}: {claim}", median(found[what]), bound, at_least)
                for what, (claim, bound, at_least) in CLAIMS.items()
            ]
        rounds["streams"] = run_to_end(measure_streams(root, arguments.rounds))
        targets.append(Target("8 streams, rate with the disk", median(rounds["streams"]), 0.97, at_least=True))
    lines = [
        f"| {each.claim} | {each.value:.3f} | {each.bound} | {'yes' if each.met else '**no**'} |" for each in targets
    ]
    text = "\n".join(["| claim | median | target | met |", "| --- | --- | --- | --- |", *lines, ""])
    result = {"measured_on": time.strftime("%Y-%m-%d"), "machine": asdict(describe_machine()), "rounds": rounds}
    show_results(arguments.out, "disk", result, text)
    return 0 if all(each.met for each in targets) else 1


if __name__ == "__main__":
    raise SystemExit(main())
