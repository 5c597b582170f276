"""Server that forks the worker processes of `pytest -n 3` from one that has imported torch and all tests.

A worker that imports them itself takes five times as long to collect the tests.
"""

import io
import os
import shlex
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, redirect_stdout
from importlib import import_module
from pathlib import Path

import pytest

from engine.process.gc_freeze import frozen_objects
from engine.process.parent_process import die_with
from tests.forked_fork_server import fork_fork_server

IMPORTED = (
    # First, because for each of its models pydantic searches all modules that were imported before.
    "app.provisioning.service",
    "cache_tiers.cpu_store.open_store",
    "aiohttp",
    "openai",
    "anthropic",
    "langchain_openai",
    "ollama",
    "transformers.modeling_utils",
    "transformers.generation",
    "transformers.masking_utils",
    "playwright.async_api",
    "bench.plot",
    "app.cli.main",
    "app.open_services",
    "app.openapi",
    "app.server",
    "engine.fleet.build",
    "engine.testing.replay_engine",
    "engine.wiring.build",
    "app.conversations.shared_page",
    "app.storage.postgres.connection",
    "cache_tiers.redis.tier",
    "engine.executor.multiproc",
    "jsonschema",
    "openpyxl",
    "redis.asyncio",
    "transformers.models.gemma3.modeling_gemma3",
    "transformers.models.llama.modeling_llama",
)
"""Modules that most workers need. None of them has assertions that pytest rewrites."""

_CONNECT = (
    "import socket, sys; server = socket.socket(socket.AF_UNIX); server.connect(sys.argv[1]); "
    "socket.send_fds(server, [bytes(1)], [0, 1, 2]); server.recv(1)"
)
"""Program that execnet starts in place of an interpreter: it passes its files on, and ends with the worker."""


@contextmanager
def worker_command(arguments: Sequence[str]) -> Iterator[str]:
    """Run a server. Give the command that starts a worker in place of an interpreter.

    arguments: those of pytest, which select the tests that the server imports.
    """
    with tempfile.TemporaryDirectory(prefix="ebb-workers-") as folder:
        address = str(Path(folder, "socket"))
        with socket.socket(socket.AF_UNIX) as listening:
            listening.bind(address)
            listening.listen()
            given = f"{listening.fileno()}, {os.getpid()}, {list(arguments)!r}"
            program = f"from tests.worker_fork_server import serve; serve({given})"
            server = subprocess.Popen([sys.executable, "-c", program], pass_fds=[listening.fileno()])
        try:
            yield shlex.join([sys.executable, "-I", "-S", "-c", _CONNECT, address])
        finally:
            server.kill()
            server.wait()


def serve(descriptor: int, parent: int, arguments: Sequence[str]) -> None:
    """Fork a worker for each connection, until `parent` ends."""
    die_with(parent)
    # Ctrl-C reaches this process too, which the controller ends.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with frozen_objects():
        for name in IMPORTED:
            import_module(name)
        # Every worker would make it while it collects the tests.
        import_module("app.openapi").openapi_document()
    # Not sooner than IMPORTED.
    import torch

    threads = torch.get_num_threads()
    # A fork has none of the threads that a computation in parallel starts, and would wait for them forever.
    torch.set_num_threads(1)
    _import_tests(arguments)
    listening = socket.socket(fileno=descriptor)
    # Workers that have ended leave nothing behind.
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    while True:
        connection, _ = listening.accept()
        if os.fork() == 0:
            listening.close()
            torch.set_num_threads(threads)
            _become_worker(connection)
            return
        connection.close()


def _import_tests(arguments: Sequence[str]) -> None:
    """Collect the tests, and keep their modules. A worker reports a module that cannot be imported."""
    with redirect_stdout(io.StringIO()):
        pytest.main([*arguments, "-n", "0", "--collect-only", "-q"])


def _become_worker(connection: socket.socket) -> None:
    _, files, _, _ = socket.recv_fds(connection, 1, 3)
    for number, file in enumerate(files):
        os.dup2(file, number)
        os.close(file)
    sys.stdin = open(0, closefd=False)  # noqa: SIM115
    sys.stdout = open(1, "w", closefd=False)  # noqa: SIM115
    sys.stderr = open(2, "w", buffering=1, errors="backslashreplace", closefd=False)  # noqa: SIM115
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    fork_fork_server()
    # Left open: its end is the end of the process.
    connection.detach()
    exec(eval(sys.stdin.readline()), vars(sys.modules["__main__"]))
