"""Pytest plugin: the tests and cores of each worker process of `pytest -n 3`, and its garbage collection."""

from collections.abc import Generator
from contextlib import ExitStack
from typing import TYPE_CHECKING

import pytest

from engine.process.gc_freeze import frozen_objects

if TYPE_CHECKING:
    from execnet import XSpec
    from xdist.remote import Producer
    from xdist.scheduler import LoadFileScheduling

TOGETHER = ("tests/e2e/model/", "tests/integration/engine/fleet/")
"""Folders whose files share a server with the default model, and two replicas."""
# Tests of these files are scheduled one by one: at full size each takes minutes, and they share little that takes time.
APART = ("tests/integration/engine/worker/native/test_exact.py", "tests/integration/engine/worker/native/test_tiers.py")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: "Producer") -> "LoadFileScheduling":
    """Schedule whole files, because their tests share fixtures.

    All files of a folder of TOGETHER go to one worker.
    """
    # Imported here because xdist is optional for runs in a single process.
    from xdist.scheduler import LoadFileScheduling

    class SharedOut(LoadFileScheduling):  # type: ignore[misc]
        def _split_scope(self, nodeid: str) -> str:
            if nodeid.startswith(APART):
                return nodeid
            together = [folder for folder in TOGETHER if nodeid.startswith(folder)]
            return together[0] if together else str(super()._split_scope(nodeid))

    # Keep the order of collection. xdist would start with the files that have most tests, and they are quick.
    config.option.loadscopereorder = False
    return SharedOut(config, log)


def pytest_configure(config: pytest.Config) -> None:
    """Limit the engines in a worker process to its share of the cores, as a control group would.

    With more threads than cores, threads that synchronize at every step would wait for each other to be scheduled.
    """
    worker = getattr(config, "workerinput", None)
    if worker is None:
        return
    from engine.worker import host_resources

    share = max(1, host_resources.usable_cores() // int(worker["workercount"]))
    patch = pytest.MonkeyPatch()
    config.add_cleanup(patch.undo)
    patch.setattr(host_resources, "cpu_quota", lambda: float(share))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_setupnodes(config: pytest.Config, specs: "list[XSpec]") -> None:
    """Fork the workers from a process that has imported all tests."""
    from execnet import XSpec

    from tests.worker_fork_server import worker_command

    serving = ExitStack()
    config.add_cleanup(serving.close)
    command = serving.enter_context(worker_command(config.invocation_params.args))
    specs[:] = [XSpec(f"popen//id={spec.id}//python={command}") for spec in specs]


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_collection() -> Generator[None, object, object]:
    """Collect no garbage while tests are collected, and never look at their millions of objects again."""
    with frozen_objects():
        return (yield)
