"""Server that forks Ray's workers from a process that has imported torch: `python -m tests.ray.forks SOCKET`.

A replica or a rank otherwise spends most of its start in imports, and the tests start thirty of them.

    this process ──forks, for each machine and job──> one that has imported Ray ──forks, for each request──> a worker

Ray reads the variables of a machine and of a job while Ray is imported, so the second kind of process is named after
that of the machine (`MACHINE`).
"""

import ctypes
import importlib
import json
import os
import random
import runpy
import signal
import socket
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import pytest

from engine.process.gc_freeze import frozen_objects
from tests.patient_loads import make_loads_patient

MAX_REQUEST: Final = 1 << 17
"""Bytes of a request: the arguments and the environment of a worker."""

BEFORE_RAY: Final = (
    "uvloop",
    "engine.wiring.build",
    "engine.executor.multiproc",
    "engine.executor.uniproc",
    "engine.executor.rank_process",
    "engine.fleet.placement.process",
    "engine.grammar.automaton",
    "engine.worker.worker",
    "models.tokenizers.tokenizer",
    "cache_tiers.cpu_store.open_store",
)
"""Modules that replicas and ranks import. One that is missing here is imported by each of them."""

WITH_RAY: Final = (
    "ray._private.node",
    "ray._private.runtime_env.setup_hook",
    "ray.util.placement_group",
    "engine.executor.ray_ranks",
    "engine.executor.ray_rank_actor",
    "engine.fleet.placement.ray_actor",
)
MACHINE: Final = "of-"
"""Beginning of the name of the process that forks the workers of a machine, before the id of the machine's process."""

_SET_NAME: Final = 15
"""PR_SET_NAME of prctl(2)."""


@dataclass(frozen=True, slots=True)
class Request:
    """A worker that a machine wants.

    descriptors: of its three standard files, and of the connection, which ends with the worker.
    """

    arguments: list[str]
    environment: dict[str, str]
    descriptors: Sequence[int]

    @classmethod
    def received(cls, connection: socket.socket, num_descriptors: int) -> "Request | None":
        """Receive a request; None if the connection has ended."""
        message, descriptors, _, _ = socket.recv_fds(connection, MAX_REQUEST, num_descriptors)
        if not message:
            return None
        arguments, environment = json.loads(message)
        return cls(arguments, environment, descriptors)

    def pass_on(self, to: socket.socket) -> None:
        """Send the request to another process, and close the descriptors here."""
        socket.send_fds(to, [json.dumps([self.arguments, self.environment]).encode()], self.descriptors)
        self.close()

    def close(self) -> None:
        """Close the descriptors."""
        for each in self.descriptors:
            os.close(each)

    def begin(self) -> None:
        """Let this process have the files and the environment that were requested."""
        for number, descriptor in enumerate(self.descriptors[:3]):
            os.dup2(descriptor, number)
            os.close(descriptor)
        self.set_environment()

    def set_environment(self) -> None:
        """Set all variables of this process."""
        os.environ.clear()
        os.environ.update(self.environment)


def serve(listener: socket.socket) -> Request:
    """Fork a process for each machine and job, and pass requests on. Return in every worker, with its request."""
    forking: dict[tuple[str, str], socket.socket] = {}
    while True:
        connection, _ = listener.accept()
        with connection:
            request = Request.received(connection, 3)
            if request is None:
                continue
            request = Request(
                request.arguments, request.environment, [*request.descriptors, os.dup(connection.fileno())]
            )
        raylet, job = request.environment["RAY_RAYLET_PID"], request.environment.get("RAY_JOB_ID", "")
        if (raylet, job) not in forking:
            ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            if _forked() == 0:
                for each in (listener, ours, *forking.values()):
                    each.close()
                request.close()
                return _serve_job(raylet, theirs)
            theirs.close()
            forking[raylet, job] = ours
        request.pass_on(forking[raylet, job])


def _serve_job(raylet: str, requests: socket.socket) -> Request:
    """Fork the workers of one job on a machine. Return in every worker, with its request."""
    ctypes.CDLL(None).prctl(_SET_NAME, f"{MACHINE}{raylet}".encode(), 0, 0, 0)
    is_ready = False
    while (request := Request.received(requests, 4)) is not None:
        if not is_ready:
            request.set_environment()
            import_all(WITH_RAY)
            is_ready = True
        if _forked() == 0:
            requests.close()
            return request
        request.close()
    os._exit(0)


def _forked() -> int:
    """Fork this process, which must have no other threads, and return the result."""
    threads = os.listdir("/proc/self/task")
    assert len(threads) == 1, f"imports have started {len(threads) - 1} threads, which a fork would lose"
    return os.fork()


def import_all(names: Sequence[str]) -> None:
    """Import modules, whose objects stay."""
    with frozen_objects():
        for name in names:
            importlib.import_module(name)


def main(path: Path) -> None:
    """Serve until this process is killed. In a forked process, run Ray's worker."""
    # The system removes ended processes from its table.
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listener:
        listener.bind(str(path))
        listener.listen(100)
        import_all(BEFORE_RAY)
        # Tests of loads read which tier the blocks came from. The workers never end this patch.
        make_loads_patient(pytest.MonkeyPatch())
        request = serve(listener)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    random.seed()
    request.begin()
    from ray._private.workers import default_worker

    sys.argv = [default_worker.__file__, *request.arguments]
    runpy.run_path(default_worker.__file__, run_name="__main__")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
