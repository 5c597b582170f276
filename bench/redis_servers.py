"""`python -m bench.redis_servers BASELINE BINARY`: the tier Redis on one server's binary, over the same on another.

Both servers run with the companion's settings on unix sockets. In turns, the tier writes blocks to each of them and
reads them, seal included. Binaries are paths of a redis-server or a valkey-server. The default of the second is the
companion's.
"""

import argparse
import mmap
import os
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

import psutil  # type: ignore[import-untyped]

from bench.disk import SIZES, Side
from bench.machine import describe_machine
from bench.report import RESULTS, show_results
from bench.report_tables import table
from bench.stats import median
from cache_tiers.lower.async_tier import AsyncTier
from cache_tiers.lower.sealed_value import FINGERPRINT_BYTES, BlockSeal
from cache_tiers.lower.tier import LowerTierOptions
from cache_tiers.owners.owners import Owners
from cache_tiers.redis.address import RedisAddress
from cache_tiers.redis.backend import RedisBackend
from cache_tiers.redis.server_binary import KEEP_PAGES, find_redis_server
from tests.waiting import until

START_SECONDS: Final = 10.0


@dataclass(frozen=True, slots=True)
class Rate:
    """Bytes per second of the tier, and bytes per second of the server's CPU time."""

    write: float
    read: float
    cpu: float


@contextmanager
def _server(binary: Path, folder: Path) -> Iterator["subprocess.Popen[bytes]"]:
    """Run a server on the socket `folder/sock`."""
    folder.mkdir()
    command = [str(binary), "--port", "0", "--unixsocket", str(folder / "sock"), "--save", "", "--dir", str(folder)]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, env=os.environ | KEEP_PAGES) as process:
        try:
            until((folder / "sock").exists, timeout=START_SECONDS)
            yield process
        finally:
            process.kill()


def measure(binaries: Sequence[Path], nbytes: int, count: int, rounds: int) -> list[list[Rate]]:
    """Return the rates of each server, by round. The first round is not counted."""
    memory = memoryview(mmap.mmap(-1, nbytes * count))
    memory[:] = os.urandom(nbytes * count)
    rates: list[list[Rate]] = [[] for _ in binaries]
    with ExitStack() as stack:
        root = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="ebb-redis-")))
        sides = []
        for number, binary in enumerate(binaries):
            process = stack.enter_context(_server(binary, root / str(number)))
            options = LowerTierOptions(nbytes, 2 * nbytes * count, BlockSeal(b"s", bytes(FINGERPRINT_BYTES)), Owners())
            tier = AsyncTier(RedisBackend(RedisAddress(unix_path=root / str(number) / "sock")), options)
            stack.callback(tier.close)
            sides.append((number, psutil.Process(process.pid), Side(tier, memory, nbytes, count)))
        for turn in range(rounds + 1):
            for number, process, side in sides[:: 1 if turn % 2 else -1]:
                before = _cpu_seconds(process)
                write, (read, _) = side.write(), side.read()
                cpu = 2 * nbytes * count / (_cpu_seconds(process) - before)
                if turn:
                    rates[number].append(Rate(write, read, cpu))
    return rates


def _cpu_seconds(process: psutil.Process) -> float:
    times = process.cpu_times()
    return float(times.user + times.system)


def main(argv: Sequence[str] | None = None) -> int:
    """Measure, print, and write redis_servers.json and redis_servers.md."""
    parser = argparse.ArgumentParser(prog="python -m bench.redis_servers", description=__doc__)
    parser.add_argument("baseline", type=Path)
    parser.add_argument("binary", type=Path, nargs="?", default=find_redis_server())
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--out", type=Path, default=RESULTS)
    arguments = parser.parse_args(argv)
    binaries = (arguments.baseline, arguments.binary)
    versions = [
        subprocess.run([each, "--version"], check=True, capture_output=True, text=True).stdout.strip()
        for each in binaries
    ]
    rows, rounds = [], {}
    for nbytes, count in SIZES.items():
        rates = measure(binaries, nbytes, count, arguments.rounds)
        ratios = [
            median([getattr(own, name) / getattr(base, name) for base, own in zip(*rates, strict=True)])
            for name in ("write", "read", "cpu")
        ]
        rows.append((f"{nbytes / 1e6:.1f} MB", *(f"{ratio:.2f}" for ratio in ratios)))
        rounds[nbytes] = [[asdict(rate) for rate in of_one] for of_one in rates]
    result = {
        "measured_on": time.strftime("%Y-%m-%d"),
        "machine": asdict(describe_machine()),
        "baseline": versions[0],
        "measured": versions[1],
        "rounds": rounds,
    }
    head = ("block", "written bytes/s", "read bytes/s", "bytes per s of the server's CPU")
    text = f"{versions[1]}, over {versions[0]}:\n\n{table(head, rows)}\n"
    show_results(arguments.out, "redis_servers", result, text)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
