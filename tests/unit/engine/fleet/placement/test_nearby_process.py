"""Handles on processes, also of processes that another one has started."""

import os
import subprocess
import sys
from collections.abc import Iterator

import pytest
from msgspec import structs

from engine.fleet.placement.nearby_process import NearbyProcess, ProcessIdentity

PROGRAM = """
import sys
from engine.fleet.placement.nearby_process import ProcessIdentity
own = ProcessIdentity.own()
print(own.machine, own.pid, own.started, flush=True)
sys.stdin.read()
"""


@pytest.fixture
def identity() -> Iterator[ProcessIdentity]:
    """Run a process until the end of the test, and yield its identity."""
    process = subprocess.Popen([sys.executable, "-c", PROGRAM], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert process.stdout is not None
    machine, pid, started = process.stdout.readline().decode().split()
    with process:
        yield ProcessIdentity(machine, int(pid), int(started))
        process.kill()


async def test_found_process_is_killed_and_its_end_is_noticed(identity: ProcessIdentity) -> None:
    found = NearbyProcess.find(identity)
    assert found is not None
    found.kill()
    await found.ended()
    found.kill()
    # The process has left the system's table.
    assert not identity.is_here
    assert NearbyProcess.find(identity) is None


@pytest.mark.parametrize("change", [{"started": 1}, {"machine": "another"}, {"machine": ""}, {"pid": 1 << 22}])
def test_process_with_another_identity_is_not_found(identity: ProcessIdentity, change: dict[str, int | str]) -> None:
    num_open = len(os.listdir("/proc/self/fd"))
    assert NearbyProcess.find(structs.replace(identity, **change)) is None
    assert len(os.listdir("/proc/self/fd")) == num_open
