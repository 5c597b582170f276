"""How `pytest -n 3` shares out the tests and the machine between its processes. A pytest plugin."""

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from xdist.remote import Producer
    from xdist.scheduler import LoadFileScheduling

ONE_SERVER = "tests/e2e/"
# At full size each of their tests takes minutes, and they share nothing.
APART = ("tests/integration/test_native_exact.py", "tests/integration/test_native_tiers.py")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: "Producer") -> "LoadFileScheduling":
    """Whole files, whose tests share fixtures; those of e2e share a server and a browser, and stay together."""
    # A machine that runs a few tests by themselves may do without xdist.
    from xdist.scheduler import LoadFileScheduling

    class SharedOut(LoadFileScheduling):  # type: ignore[misc]
        def _split_scope(self, nodeid: str) -> str:
            if nodeid.startswith(APART):
                return nodeid
            return ONE_SERVER if nodeid.startswith(ONE_SERVER) else str(super()._split_scope(nodeid))

    # In the order of collection: the files with most tests, which would go first, are quick ones.
    config.option.loadscopereorder = False
    return SharedOut(config, log)


def pytest_configure(config: pytest.Config) -> None:
    """Engines in one of several processes get its share of the cores, as from a control group: threads that meet at
    every step would wait for each other's turn."""
    worker = getattr(config, "workerinput", None)
    if worker is None:
        return
    from engine.worker import host_resources

    share = max(1, host_resources.usable_cores() // int(worker["workercount"]))
    patch = pytest.MonkeyPatch()
    config.add_cleanup(patch.undo)
    patch.setattr(host_resources, "_cpu_quota", lambda: share)
