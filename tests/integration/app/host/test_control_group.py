"""A server in a real control group whose memory is less than the default sizes of a large machine."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from app.load.client import Generation
from bench.server import EBB_SERVE, EbbServer, ServerSettings
from engine.process.control_groups import num_oom_kills
from tests.sizes import TOOL

pytestmark = TOOL

LIMIT = 1 << 30
ROOTS = {
    Path("/sys/fs/cgroup/memory"): "memory.limit_in_bytes",
    Path("/sys/fs/cgroup"): "memory.max",
}
"""The roots of version 1 and 2, with the name of the file of the limit."""


@pytest.fixture
def group() -> Iterator[Path]:
    """Make a control group of LIMIT bytes. Skip the test without the right to make one."""
    root, limit = next(each for each in ROOTS.items() if each[0].is_dir())
    path = root / "ebb-test"
    try:
        path.mkdir()
        (path / limit).write_text(str(LIMIT))
    except OSError as error:
        pytest.skip(f"no control group can be made here: {error}")
    yield path
    path.rmdir()


async def test_server_fits_in_its_control_group(model_path: Path, tmp_path: Path, group: Path) -> None:
    command = ("sh", "-c", f'echo $$ > {group}/cgroup.procs && exec "$@"', "sh", *EBB_SERVE)
    settings = ServerSettings("limited", ("--model", str(model_path)))
    async with EbbServer(settings, tmp_path / "state", command) as server:
        memory = memory_of(server.log)
        assert memory["weights"] > 200
        assert sum(memory.values()) < LIMIT >> 20
        for number in range(4):
            await server.client.complete(f"Prompt {number}: " + "river lake sea " * 300, Generation(max_tokens=2))
        assert num_oom_kills(Path(f"/proc/{server.pid}")) == 0


def memory_of(log: Path) -> dict[str, int]:
    """Return the sizes in MiB that the server's log names at the start."""
    line = re.search(r"memory: (weights .*)", log.read_text())
    assert line is not None
    parts = re.findall(r"(weights|device pool|CPU tier|Redis up to|sealing) ([\d,]+) MiB", line[1])
    return {name: int(size.replace(",", "")) for name, size in parts}
