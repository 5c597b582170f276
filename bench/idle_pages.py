"""Memory and processor time of pages that only follow changes (GET /api/events), next to idle connections.

    python -m bench.idle_pages [--pages 640] [--seconds 60]

Prints bytes of the server process and microseconds of processor time per second, for each connection.
"""

import argparse
import asyncio
import os
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

import aiohttp

from app.runs.changes import MAX_FOLLOWERS
from bench.api.replay_server import replay_server

SETTLE_SECONDS = 5.0


@dataclass(frozen=True, slots=True)
class Cost:
    """Cost of one connection.

    nbytes: growth of the server's resident memory.
    microseconds: processor time per second of being idle.
    """

    nbytes: float
    microseconds: float


async def make_keys(url: str, count: int) -> list[str]:
    """Create keys of as many tenants. The first one is an administrator's, since the server has none yet."""
    keys: list[str] = []
    async with aiohttp.ClientSession(url) as http:
        for number in range(count):
            headers = {"X-Api-Key": keys[0]} if keys else {}
            body = {"name": f"tenant-{number}", "scope": "admin" if not keys else "user"}
            response = await http.post("/api/admin/keys", json=body, headers=headers)
            keys.append((await response.json())["key"])
    return keys


async def connect(url: str, path: str, key: str) -> asyncio.StreamWriter:
    """Send one request, read the beginning of its answer, and leave the connection open."""
    parts = urlsplit(url)
    reader, writer = await asyncio.open_connection(parts.hostname, parts.port)
    writer.write(f"GET {path} HTTP/1.1\r\nHost: {parts.netloc}\r\nX-Api-Key: {key}\r\n\r\n".encode())
    head = await reader.readuntil(b"\r\n\r\n")
    if b" 200 " not in head.split(b"\r\n")[0]:
        raise RuntimeError(f"{path}: {head.decode()}")
    return writer


def resident_bytes(pid: int) -> int:
    """Read the resident memory of a process (Linux)."""
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def processor_seconds(pid: int) -> float:
    """Read the processor time of a process, in user and system mode (Linux)."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


async def cost_of(path: str, keys: list[str], pages: int, seconds: float, url: str, pid: int) -> Cost:
    """Open connections, and measure the server while they are idle."""
    before = resident_bytes(pid)
    writers = [await connect(url, path, keys[number // MAX_FOLLOWERS]) for number in range(pages)]
    await asyncio.sleep(SETTLE_SECONDS)
    nbytes = (resident_bytes(pid) - before) / pages
    used = processor_seconds(pid)
    await asyncio.sleep(seconds)
    spent = processor_seconds(pid) - used
    for writer in writers:
        writer.close()
    await asyncio.sleep(SETTLE_SECONDS)
    return Cost(nbytes, spent / seconds / pages * 1e6)


async def measure(pages: int, seconds: float) -> dict[str, Cost]:
    """Measure pages that follow changes, after connections that were kept open by a request that has ended."""
    with tempfile.TemporaryDirectory() as folder:
        async with replay_server(Path(folder)) as server:
            url = server.base_url
            assert url is not None
            keys = await make_keys(url, -(-pages // MAX_FOLLOWERS))
            return {
                name: await cost_of(path, keys, pages, seconds, url, server.pid)
                for name, path in (("idle", "/health"), ("following", "/api/events"))
            }


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m bench.idle_pages", description=__doc__)
    parser.add_argument("--pages", type=int, default=640)
    parser.add_argument("--seconds", type=float, default=60.0)
    given = parser.parse_args()
    for name, cost in asyncio.run(measure(given.pages, given.seconds)).items():
        print(f"{name}: {cost.nbytes:,.0f} bytes, {cost.microseconds:,.1f} us per second")
    return 0


if __name__ == "__main__":
    sys.exit(main())
