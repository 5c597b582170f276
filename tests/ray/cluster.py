"""A Ray cluster of a head without cores and three machines, all of them on the loopback of this one."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from engine.fleet.placement.ray_cluster import FAREWELL_MS, RECONNECT_SECONDS
from tests.ray import forked_worker
from tests.ray.forks import MACHINE
from tests.waiting import until

MACHINES = 3
SETTINGS = {
    "health_check_initial_delay_ms": 1000,
    "health_check_period_ms": 500,
    "health_check_timeout_ms": 500,
    "health_check_failure_threshold": 3,
    "worker_niceness": 0,
    "gcs_rpc_server_reconnect_timeout_s": RECONNECT_SECONDS,
    "kill_worker_timeout_milliseconds": 500,
}
"""Settings of the cluster, as docs/guides/fleet.md says. The last one ends a frozen process sooner."""
MEMORY = 80 << 20
"""Bytes of Ray's object store on each machine, which Ebb does not use."""


class RayCluster:
    """The running cluster.

    address: of the head.
    """

    def __init__(self, cluster: Any) -> None:
        self._cluster = cluster
        self.address: str = cluster.address

    def add_machine(self, *, wait: bool = True) -> None:
        """Add a machine with two CPUs. Ray believes that it also has two GPUs and two NPUs."""
        claimed = {"num_cpus": 2, "num_gpus": 2, "resources": {"NPU": 2}, "object_store_memory": MEMORY}
        self._cluster.add_node(wait=wait, worker_path=forked_worker.__file__, **claimed)

    def kill_machine_of(self, pid: int | None) -> None:
        """Kill the process that makes the machine of an actor, and with it the actor."""
        assert pid is not None
        machine = machine_of(pid)
        [node] = [node for node in self._cluster.worker_nodes if _raylet(node).pid == machine]
        helpers = _helpers(machine)
        _raylet(node).kill()
        # As an init process would: a worker takes a zombie for alive.
        _raylet(node).wait()
        _end(helpers)

    def kill_head(self) -> None:
        """Kill the process that knows all machines and actors."""
        [server] = self._cluster.head_node.all_processes["gcs_server"]
        server.process.kill()
        server.process.wait()


def machine_of(pid: int) -> int:
    """Return the id of the process that makes the machine of an actor."""
    parent = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1]
    return int(Path(f"/proc/{parent}/comm").read_text().removeprefix(MACHINE))


def _helpers(machine: int) -> list[int]:
    """Return the processes that a machine's process has started. By themselves they end a minute after it."""
    with suppress(OSError):
        return [int(pid) for pid in Path(f"/proc/{machine}/task/{machine}/children").read_text().split()]
    return []


def _end(pids: Sequence[int]) -> None:
    for pid in pids:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def _raylet(node: Any) -> Any:
    return node.all_processes["raylet"][0].process


@contextmanager
def _forks(path: Path) -> Iterator[None]:
    """Run the server that forks workers while the context is open, with its socket at `path`."""
    # Other threads of the server would be missing in its forks.
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}
    server = subprocess.Popen([sys.executable, "-m", "tests.ray.forks", str(path)], env=environment)
    try:
        yield
    finally:
        server.kill()
        server.wait()


@contextmanager
def ray_cluster(folder: Path) -> Iterator[RayCluster]:
    """Run the cluster while the context is open, with its files in `folder`."""
    (folder / "ray").mkdir()
    forks = folder / "forks"
    with ExitStack() as closing:
        patch = closing.enter_context(pytest.MonkeyPatch.context())
        patch.setenv("RAY_TMPDIR", str(folder))
        patch.setenv("RAY_AUTH_MODE", "token")
        patch.setenv("RAY_AUTH_TOKEN", "a token of the tests, of 32 letters or more")
        patch.setenv("RAY_USAGE_STATS_ENABLED", "0")
        patch.setenv("RAY_gcs_rpc_server_reconnect_timeout_s", str(RECONNECT_SECONDS))
        patch.setenv("RAY_task_events_shutdown_flush_timeout_ms", str(FAREWELL_MS))
        # Otherwise the processes listen on all interfaces.
        patch.setenv("RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER", "0")
        patch.setenv("PYTHONPATH", os.getcwd())
        patch.setenv(forked_worker.ADDRESS, str(forks))
        closing.enter_context(_forks(forks))
        from ray.cluster_utils import Cluster

        quiet = {"include_dashboard": False, "include_log_monitor": False, "no_monitor": True}
        cluster = Cluster(
            initialize_head=True,
            shutdown_at_exit=False,
            head_node_args={**quiet, "num_cpus": 0, "object_store_memory": MEMORY, "_system_config": SETTINGS},
        )
        try:
            running = RayCluster(cluster)
            # One after the other: machines that start at the same time choose the same names, and some do not start.
            for _ in range(MACHINES):
                running.add_machine(wait=False)
            cluster.wait_for_nodes()
            until(forks.exists)
            yield running
        finally:
            # Each machine would take a second to end by itself. `Cluster.remove_node` also refuses one that this
            # process has not left yet, and without the head leaving takes long.
            for node in cluster.list_all_nodes():
                helpers = _helpers(_raylet(node).pid)
                node.kill_all_processes(check_alive=False, wait=True)
                _end(helpers)
            cluster.worker_nodes.clear()
            cluster.head_node = None
            cluster.shutdown()
