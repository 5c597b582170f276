"""`python -m bench.start`: duration of a second start, and memory of the server when ready.

The first start is not counted, since it may compile, download and fill the page cache. The memory has an upper bound:
weights × 1.15, plus the parts of both pools that are resident before use, the bare imports of the same run, and 150 MB.
"""

import argparse
import http.client
import json
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

from app.config.settings import load_settings
from app.doctor.memory_plan import weights_of
from app.doctor.network_check import network_of
from bench.server import EBB_SERVE, server_pid
from bench.stats import median
from cache_tiers.cpu.growing_memory import AHEAD
from models.download.resolve import find_model

MB: Final = 1_000_000
WEIGHTS_FACTOR: Final = 1.15
SLACK: Final = 150 * MB
TARGETS: Final = {"page": 1.5, "health": 1.5, "ready": 4.0}
"""Seconds from the start of the process to the first answer."""
PATHS: Final = {"page": "/", "health": "/health", "ready": "/ready"}
IMPORTS: Final = "app.server, engine.wiring.build, engine.executor.uniproc, cache_tiers.cpu_store.open_store"
POLL_SECONDS: Final = 0.005
GIVE_UP_SECONDS: Final = 300.0


@dataclass(frozen=True, slots=True)
class Start:
    """One start. Times are in seconds from exec to the first 200 of each path.

    cpu: CPU time of the process when ready.
    rss: resident bytes of the server process when ready.
    pools: bytes of its device pool and CPU tier that are resident before their use.
    """

    page: float
    health: float
    ready: float
    cpu: float
    rss: int
    pools: int


@dataclass(frozen=True, slots=True)
class Memory:
    """Memory in bytes. `rss` must not exceed the bound."""

    rss: int
    weights: int
    pools: int
    imports: int

    @property
    def bound(self) -> int:
        """Upper bound of the server's memory."""
        return int(self.weights * WEIGHTS_FACTOR) + self.pools + self.imports + SLACK


def main(argv: Sequence[str] | None = None) -> int:
    """Measure and print. Return 1 if a target is missed."""
    parser = argparse.ArgumentParser(prog="python -m bench.start", description=__doc__)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--json", type=Path, help="output file for all measurements")
    parser.add_argument("flags", nargs="*", help="flags of `ebb serve`, after --; EBB_MODEL names the model")
    arguments = parser.parse_args(argv)
    with tempfile.TemporaryDirectory(prefix="ebb-start-") as folder:
        starts = [_start(Path(folder), arguments.flags) for _ in range(1 + arguments.rounds)][1:]
    memory = Memory(
        rss=max(start.rss for start in starts),
        weights=_weights(),
        pools=starts[0].pools,
        imports=_import_bytes(),
    )
    print("\n".join(report(starts, memory)))
    if arguments.json is not None:
        written = {"starts": [asdict(start) for start in starts], "memory": asdict(memory) | {"bound": memory.bound}}
        arguments.json.write_text(json.dumps(written, indent=2) + "\n")
    return 0 if meets_targets(starts, memory) else 1


def report(starts: Sequence[Start], memory: Memory) -> Iterator[str]:
    """Yield the lines of the table."""
    yield f"{len(starts)} starts after the first"
    yield f"{'':8} {'median':>8} {'least':>8} {'most':>8}   target"
    for name, target in TARGETS.items():
        values = [float(getattr(start, name)) for start in starts]
        yield f"{name:8} {median(values):6.2f} s {min(values):6.2f} s {max(values):6.2f} s   {target:g} s"
    yield f"{'cpu':8} {median([start.cpu for start in starts]):6.2f} s   CPU time of the process until it was ready"
    yield (
        f"memory   {memory.rss / MB:.0f} MB of at most {memory.bound / MB:.0f} MB: weights {memory.weights / MB:.0f} x "
        f"{WEIGHTS_FACTOR}, pools {memory.pools / MB:.0f}, imports {memory.imports / MB:.0f}, {SLACK / MB:.0f}"
    )


def meets_targets(starts: Sequence[Start], memory: Memory) -> bool:
    """Return whether the medians and the memory are within their bounds."""
    medians = {name: median([float(getattr(start, name)) for start in starts]) for name in TARGETS}
    return all(medians[name] <= target for name, target in TARGETS.items()) and memory.rss <= memory.bound


def _start(state_dir: Path, flags: Sequence[str]) -> Start:
    seconds: dict[str, float] = {}
    began = time.perf_counter()
    with _serving(state_dir, flags) as (process, port):
        for name, path in PATHS.items():
            while _get(port, path) is None:
                if process.poll() is not None or time.perf_counter() - began > GIVE_UP_SECONDS:
                    raise SystemExit(f"the server did not start:\n{_log(state_dir).read_text(errors='replace')}")
                time.sleep(POLL_SECONDS)
            seconds[name] = time.perf_counter() - began
        tiers = json.loads(_get(port, "/health") or b"{}")["tiers"]
        pid = server_pid(process.pid)
        assert pid is not None, "a server that has just answered must be running"
        return Start(
            **seconds,
            cpu=_cpu_seconds(pid),
            rss=_resident_bytes(f"/proc/{pid}/status"),
            pools=sum(min(AHEAD, int(tiers[name]["capacity_bytes"])) for name in ("device", "cpu")),
        )


@contextmanager
def _serving(state_dir: Path, flags: Sequence[str]) -> Iterator[tuple["subprocess.Popen[bytes]", int]]:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = int(probe.getsockname()[1])
    command = [*EBB_SERVE, "--port", str(port), "--state-dir", str(state_dir), *flags]
    with _log(state_dir).open("wb") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log)
    try:
        yield process, port
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(GIVE_UP_SECONDS)


def _log(state_dir: Path) -> Path:
    return state_dir / "server.log"


def _get(port: int, path: str) -> bytes | None:
    """Return the body of a 200, or None for any other result."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    try:
        connection.request("GET", path)
        response = connection.getresponse()
        body = response.read()
        return body if response.status == 200 else None
    except OSError:
        return None
    finally:
        connection.close()


def _cpu_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    # utime and stime of all threads, in ticks of 10 ms.
    return (int(fields[11]) + int(fields[12])) / 100


def _resident_bytes(status: str) -> int:
    for line in Path(status).read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) * 1024
    raise SystemExit(f"{status} has no VmRSS: this benchmark needs Linux")


def _import_bytes() -> int:
    """Return the resident bytes of an interpreter that has only imported the server's modules."""
    code = f"import {IMPORTS}; print(open('/proc/self/status').read())"
    status = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    return next(int(line.split()[1]) * 1024 for line in status.splitlines() if line.startswith("VmRSS:"))


def _weights() -> int:
    settings = load_settings({})
    folder = find_model(settings.model, settings.cache_dir)
    if folder is None:
        raise SystemExit(f"{settings.model} is not on this machine")
    return weights_of(settings, folder, network_of(settings, folder)).held


if __name__ == "__main__":
    raise SystemExit(main())
