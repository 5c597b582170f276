"""Memory of a server before its first chat."""

from pathlib import Path

import psutil  # type: ignore[import-untyped]

from bench.server import EbbServer, ServerSettings
from tests.sizes import MANY_PROCESSES

MOST_MB = 900
FLAGS = ("--kv-memory", "540MiB", "--cpu-kv-memory", "1620MiB", "--redis-url", "off")
"""The default sizes for the default model on a machine with enough memory."""


@MANY_PROCESSES
async def test_fresh_server_holds_little_of_its_pools(model_path: Path, tmp_path: Path) -> None:
    settings = ServerSettings("fresh", (*FLAGS, "--model", str(model_path)))
    async with EbbServer(settings, tmp_path / "state") as server:
        assert psutil.Process(server.pid).memory_info().rss / 1e6 <= MOST_MB
