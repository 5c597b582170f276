"""Processes that are forked from one that has imported the server and torch, which takes longer than most of them run.

A process that must start as a user starts it needs a separate interpreter.
"""

import multiprocessing
import os
import signal
import sys
from collections.abc import Callable, Mapping, Sequence
from multiprocessing.connection import Connection
from tempfile import TemporaryFile

FORKED = multiprocessing.get_context("forkserver")
# A test process has one fork server, so this lists the imports of everything that tests fork.
FORKED.set_forkserver_preload(
    [
        "tests.integration.serve_fake",
        "tests.integration.forked_engines",
        "tests.integration.models.pull_child",
        "app.cli.bench",
        "app.cli.chat",
        "models.gguf_import.convert",
        "models.download.conversion_check",
    ]
)


class ForkedProcess:
    """Process that calls `main` and exits with the status that it returns. The methods are those of subprocess.Popen.

    pid: process id.
    """

    def __init__(
        self,
        main: Callable[[], int],
        arguments: Sequence[str],
        *,
        stdin: int | None = None,
        stdout: int | None = None,
        stderr: int | None = None,
        environment: Mapping[str, str] | None = None,
        pass_fds: Sequence[int] = (),
    ) -> None:
        """Start the process in a separate session.

        main: function of a module, which reads its arguments from sys.argv.
        stdin, stdout, stderr: descriptors that stay open here; None stands for those of the fork server.
        environment: None stands for that of this process.
        pass_fds: descriptors that stay open here. Their numbers in the process are the last arguments.
        """
        given_files = (stdin, stdout, stderr, *pass_fds)
        files = [Connection(os.dup(each)) if each is not None else None for each in given_files]
        given = dict(os.environ if environment is None else environment)
        self._process = FORKED.Process(target=_run, args=(main, list(arguments), files, given), daemon=True)
        self._process.start()
        for file in files:
            if file is not None:
                file.close()
        assert self._process.pid is not None
        self.pid = self._process.pid

    def poll(self) -> int | None:
        """Return the exit status, negative for a signal; None while the process runs."""
        return self._process.exitcode

    def wait(self, timeout: float | None = None) -> int:
        """Wait for the end, and return the exit status. Raise TimeoutError."""
        self._process.join(timeout)
        status = self._process.exitcode
        if status is None:
            raise TimeoutError(f"process {self.pid} did not end within {timeout} s")
        return status

    def send_signal(self, number: signal.Signals) -> None:
        """Send a signal, unless the process has ended."""
        if self.poll() is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        """Send SIGKILL."""
        self.send_signal(signal.SIGKILL)


def run_forked(
    main: Callable[[], int], *arguments: str, environment: Mapping[str, str] | None = None, timeout: float = 60.0
) -> tuple[int, str, str]:
    """Run a process to its end. Return the exit status, standard output and standard error."""
    with TemporaryFile() as output, TemporaryFile() as errors:
        process = ForkedProcess(
            main, arguments, stdout=output.fileno(), stderr=errors.fileno(), environment=environment
        )
        try:
            status = process.wait(timeout)
        finally:
            process.kill()
        for file in (output, errors):
            file.seek(0)
        return status, output.read().decode(), errors.read().decode()


def _run(
    main: Callable[[], int],
    arguments: Sequence[str],
    files: Sequence[Connection | None],
    environment: Mapping[str, str],
) -> None:
    os.setsid()
    for number, file in enumerate(files[:3]):
        if file is not None:
            os.dup2(file.fileno(), number)
            file.close()
    passed = [str(file.fileno()) for file in files[3:] if file is not None]
    sys.stdin = open(0, closefd=False)  # noqa: SIM115
    sys.stdout = open(1, "w", closefd=False)  # noqa: SIM115
    sys.stderr = open(2, "w", buffering=1, errors="backslashreplace", closefd=False)  # noqa: SIM115
    os.environ.clear()
    os.environ.update(environment)
    # A background job may ignore these signals, which the fork server and its processes would inherit.
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    sys.argv[1:] = [*arguments, *passed]
    sys.exit(main())
