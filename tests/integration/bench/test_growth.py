"""The measurement of a server's memory over many requests, in small."""

import signal
import subprocess
import sys
from pathlib import Path

from bench.growth import MOST, Growth, measure, table, target
from tests.sizes import TOOL, Size

MOST_IN_SMALL = 1.03
"""Largest growth while caches are still being filled."""


@TOOL
async def test_memory_levels_off_over_turns_and_requests(tmp_path: Path, size: Size) -> None:
    first, count = size.pick(small=(1_500, 3_000), full=(5_000, 30_000))
    for growth in await measure(tmp_path, first, count, print):
        assert growth.late / growth.early <= size.pick(small=MOST_IN_SMALL, full=MOST), growth.kind


def test_growth_above_its_bound_is_a_missed_target() -> None:
    targets = [target(Growth("turns of chats", 1_000, late)) for late in (1_010, 1_011)]
    assert [each.met for each in targets] == [True, False]
    assert "| turns of chats | 1.0110 | 1.01 |" in table(targets, 5, 30)


@TOOL
def test_sigterm_ends_the_server_as_well() -> None:
    with subprocess.Popen(
        [sys.executable, "-m", "bench.growth", "--first", "20"], stdout=subprocess.PIPE, text=True
    ) as bench:
        children = Path(f"/proc/{bench.pid}/task/{bench.pid}/children")
        assert bench.stdout is not None
        assert "resident" in bench.stdout.readline()
        servers = children.read_text().split()
        assert servers
        bench.terminate()
        bench.stdout.read()

    assert bench.returncode == 128 + signal.SIGTERM
    assert not any(Path("/proc", server).exists() for server in servers)
