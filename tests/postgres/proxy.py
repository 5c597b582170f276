"""A proxy in front of PostgreSQL, in a separate process, whose connections can be cut, swallowed or misled.

    python -m tests.postgres.proxy FOLDER TARGET

Listens at the socket of PostgreSQL in FOLDER, and connects to the one in the folder TARGET. Orders are lines of
standard input. Each is confirmed by a line of standard output.
"""

import asyncio
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Final, Self

SOCKET: Final = ".s.PGSQL.5432"
COMMITTED: Final = b"C\x00\x00\x00\x0bCOMMIT\x00"
"""Message of PostgreSQL that a transaction is committed."""
UNREACHABLE_SECONDS: Final = 0.5


class Proxy:
    """A running proxy."""

    def __init__(self, folder: Path, target: Path) -> None:
        folder.mkdir()
        self.folder = folder
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.postgres.proxy", str(folder), str(target)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self._confirmed()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        # Waits for the end, which follows that of the orders.
        self._process.__exit__(kind, error, trace)

    def lead_to(self, target: Path) -> None:
        """Lead new connections to another server."""
        self._order(f"target {target}")

    def cut(self) -> None:
        """Close the present connections."""
        self._order("cut")

    def swallow(self, *, listeners: bool = False) -> None:
        """Let no byte through the present connections any more, and close none of them.

        listeners: only those of which a LISTEN was seen.
        """
        self._order("swallow listeners" if listeners else "swallow")

    def lose_commits(self, count: int) -> None:
        """Cut connections instead of confirming a COMMIT: every second time, until `count` answers are lost.

        After every second lost answer no connection is made for UNREACHABLE_SECONDS, so that no client can look whether
        the transaction is stored.
        """
        self._order(f"lose {count}")

    @property
    def num_left(self) -> int:
        """Number of answers that are still to be lost."""
        return int(self._order("left"))

    def _order(self, order: str) -> str:
        assert self._process.stdin is not None
        self._process.stdin.write(f"{order}\n")
        self._process.stdin.flush()
        return self._confirmed()

    def _confirmed(self) -> str:
        assert self._process.stdout is not None
        return self._process.stdout.readline().strip()


class _Connection:
    """Both ends of a connection, and the tasks that pass bytes on."""

    def __init__(self, ends: list[asyncio.StreamWriter]) -> None:
        self.ends = ends
        self.tasks: list[asyncio.Task[None]] = []
        self.listens = False

    def cut(self) -> None:
        for end in self.ends:
            end.transport.abort()

    def swallow(self) -> None:
        for task in self.tasks:
            task.cancel()


class _Relay:
    def __init__(self, target: Path) -> None:
        self._target = target
        self._connections: list[_Connection] = []
        self._to_lose = 0
        self._is_next_lost = False
        self._unreachable_until = 0.0

    def obey(self, order: str) -> str:
        match order.split():
            case ["target", path]:
                self._target = Path(path)
            case ["cut"]:
                for each in self._connections:
                    each.cut()
                self._connections.clear()
            case ["swallow", *kind]:
                for each in self._connections:
                    if each.listens or not kind:
                        each.swallow()
            case ["lose", count]:
                self._to_lose, self._is_next_lost = int(count), True
            case ["left"]:
                return str(self._to_lose)
        return "ok"

    async def accept(self, client_reader: asyncio.StreamReader, client: asyncio.StreamWriter) -> None:
        if asyncio.get_running_loop().time() < self._unreachable_until:
            client.transport.abort()
            return
        try:
            server_reader, server = await asyncio.open_unix_connection(self._target / SOCKET)
        except OSError:
            client.transport.abort()
            return
        connection = _Connection([client, server])
        self._connections.append(connection)
        passing = self._to_server(connection, client_reader, server), self._to_client(connection, server_reader, client)
        connection.tasks += map(asyncio.create_task, passing)

    async def _to_server(
        self, connection: _Connection, reader: asyncio.StreamReader, server: asyncio.StreamWriter
    ) -> None:
        with suppress(OSError):
            while data := await reader.read(1 << 16):
                connection.listens = connection.listens or b"LISTEN " in data
                server.write(data)
        server.close()

    async def _to_client(
        self, connection: _Connection, reader: asyncio.StreamReader, client: asyncio.StreamWriter
    ) -> None:
        with suppress(OSError):
            while data := await reader.read(1 << 16):
                if COMMITTED in data and self._loses():
                    connection.cut()
                    return
                client.write(data)
        client.close()

    def _loses(self) -> bool:
        if not self._to_lose:
            return False
        loses, self._is_next_lost = self._is_next_lost, not self._is_next_lost
        if loses:
            self._to_lose -= 1
            if self._to_lose % 2:
                self._unreachable_until = asyncio.get_running_loop().time() + UNREACHABLE_SECONDS
        return loses


async def _main(folder: Path, target: Path) -> None:
    relay = _Relay(target)
    await asyncio.start_unix_server(relay.accept, folder / SOCKET, backlog=200)
    print("ready", flush=True)
    orders = asyncio.StreamReader()
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(orders), sys.stdin)
    while order := await orders.readline():
        print(relay.obey(order.decode()), flush=True)


if __name__ == "__main__":
    asyncio.run(_main(Path(sys.argv[1]), Path(sys.argv[2])))
