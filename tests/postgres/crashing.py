"""A PostgreSQL of its own for tests that crash it. Other tests share one, several of them at a time."""

import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote

import psycopg

from tests.waiting import until

SCRIPT = Path(__file__).parents[2] / "scripts" / "with-postgres"


class CrashingPostgres:
    """PostgreSQL at an address. A crash loses all that no transaction waited for in the last ten seconds."""

    def __init__(self, address: str) -> None:
        self._address = address
        self._execute("CREATE SCHEMA ebb", "ALTER SYSTEM SET wal_writer_delay = '10s'", "SELECT pg_reload_conf()")
        self.url = f"{address}&options={quote('-csearch_path=ebb')}"

    def crash(self) -> None:
        """Kill a backend, as the kernel does for lack of memory, and wait until PostgreSQL serves again."""
        with psycopg.connect(self._address) as connection:
            victim = connection.info.backend_pid
            os.kill(victim, signal.SIGKILL)
            # All sessions end before PostgreSQL restarts.
            until(lambda: self._is_lost(connection))
        until(self._serves)

    def _is_lost(self, connection: psycopg.Connection) -> bool:
        try:
            connection.execute("SELECT 1")
        except psycopg.OperationalError:
            return True
        return False

    def _serves(self) -> bool:
        try:
            self._execute("SELECT 1")
        except psycopg.OperationalError:
            return False
        return True

    def _execute(self, *statements: str) -> None:
        with psycopg.connect(self._address, autocommit=True) as connection:
            for statement in statements:
                connection.execute(statement.encode())


@contextmanager
def crashing_postgres() -> Iterator[CrashingPostgres]:
    """Run a PostgreSQL for the duration of the context."""
    command = [str(SCRIPT), "sh", "-c", 'echo "$TEST_DATABASE_URL"; read -r _']
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            yield CrashingPostgres(process.stdout.readline().strip())
        finally:
            process.stdin.close()
            process.wait(60)
