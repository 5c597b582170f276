"""Connections to PostgreSQL that hang: nothing waits for them without a limit, and they are made again."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict

from app.domain.storage_health import StorageUnavailableError
from app.storage import database as interface
from app.storage.connection import MISSED
from app.storage.errors import ReadTimeoutError
from app.storage.postgres import connection, listener
from app.storage.postgres import database as module
from app.storage.postgres.limits import AWAY_SECONDS, CONNECT_SECONDS, Reach
from app.storage.store import Store
from tests.on_postgres import SERVER, url_of

GIVEN = conninfo_to_dict(SERVER)
SOCKET = Path(str(GIVEN["host"])) / ".s.PGSQL.5432"
PORT = GIVEN.get("port")
"""None where PostgreSQL serves at a socket."""


class Hole:
    """A proxy in front of PostgreSQL, whose present connections can be made to swallow everything."""

    def __init__(self, home: Path) -> None:
        self._home = home
        self._passing = list[asyncio.Task[None]]()
        self._ends = list[asyncio.StreamWriter]()

    async def __aenter__(self) -> "Hole":
        if PORT is None:
            self._server = await asyncio.start_unix_server(self._relay, self._home / SOCKET.name)
        else:
            self._server = await asyncio.start_server(self._relay, "localhost", 0)
        return self

    def through(self, url: str) -> str:
        """Return an address of PostgreSQL as one behind the proxy."""
        if PORT is None:
            return url.replace(str(SOCKET.parent), str(self._home))
        return url.replace(f":{PORT}/", f":{self._server.sockets[0].getsockname()[1]}/")

    async def __aexit__(self, *_: object) -> None:
        self._server.close()
        self.swallow()
        for end in self._ends:
            end.close()

    def swallow(self) -> None:
        """Let no byte through the present connections any more, and close none of them."""
        for task in self._passing:
            task.cancel()
        self._passing.clear()

    async def _relay(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._ends.append(writer)
        if PORT is None:
            server_reader, server_writer = await asyncio.open_unix_connection(SOCKET)
        else:
            server_reader, server_writer = await asyncio.open_connection("localhost", int(PORT))
        self._ends.append(server_writer)
        for source, to in ((reader, server_writer), (server_reader, writer)):
            self._passing.append(asyncio.create_task(self._pass(source, to)))

    async def _pass(self, source: asyncio.StreamReader, to: asyncio.StreamWriter) -> None:
        with suppress(OSError):
            while data := await source.read(65536):
                to.write(data)
        to.close()


@pytest.fixture
async def hole() -> AsyncIterator[Hole]:
    # Paths of sockets are short, and those of tests are not.
    with TemporaryDirectory() as home:
        async with Hole(Path(home)) as made:
            yield made


@pytest.fixture
def url(hole: Hole, tmp_path: Path) -> str:
    return hole.through(url_of(tmp_path))


@pytest.fixture
async def store(url: str) -> AsyncIterator[Store]:
    store = await Store.open_postgres(url)
    yield store
    await store.close()


async def test_hung_read_ends_and_its_connection_is_made_again(
    store: Store, hole: Hole, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(interface, "READ_SECONDS", 0.3)
    chat = await store.conversations.create({})
    hole.swallow()
    with pytest.raises(ReadTimeoutError):
        await store.conversations.get(chat.id)
    monkeypatch.undo()
    assert (await store.conversations.get(chat.id)).id == chat.id


async def test_cancelled_read_of_a_hung_database_frees_its_thread(store: Store, hole: Hole) -> None:
    chat = await store.conversations.create({})
    hole.swallow()
    # As many as one tenant may lease, so the next read waits for one of their connections.
    reading = [asyncio.create_task(store.conversations.get(chat.id)) for _ in range(module.READERS // 2)]
    await asyncio.sleep(0)
    for task in reading:
        task.cancel()
    async with asyncio.timeout(10):
        assert (await store.conversations.get(chat.id)).id == chat.id


async def test_hung_write_is_an_outage_and_the_next_one_works(
    store: Store, hole: Hole, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "TRANSACTION_SECONDS", 0.5)
    hole.swallow()
    with pytest.raises(StorageUnavailableError):
        await store.conversations.create({})
    monkeypatch.undo()
    assert (await store.conversations.create({"title": "Tides"})).title == "Tides"


async def test_hung_write_has_the_other_connections_asked(
    store: Store, hole: Hole, monkeypatch: pytest.MonkeyPatch
) -> None:
    chat = await store.conversations.create({})
    monkeypatch.setattr(module, "TRANSACTION_SECONDS", 0.3)
    monkeypatch.setattr(connection, "ASK_SECONDS", 0.1)
    hole.swallow()
    with pytest.raises(StorageUnavailableError):
        await store.conversations.create({})
    # Each would wait for READ_SECONDS otherwise.
    async with asyncio.timeout(interface.READ_SECONDS / 2):
        for _ in range(module.READERS):
            await store.conversations.get(chat.id)


async def test_silent_loss_of_the_listener_is_noticed(
    store: Store, hole: Hole, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(listener, "ALIVE_SECONDS", 0.2)
    monkeypatch.setattr(listener, "ANSWER_SECONDS", 0.2)
    missed = asyncio.Event()
    await store.database.listen(lambda topic, _: missed.set() if topic == MISSED else None)
    hole.swallow()
    async with asyncio.timeout(20):
        await missed.wait()


def test_notices_that_are_lost_in_silence_come_back_within_30_s() -> None:
    noticed = listener.ALIVE_SECONDS + listener.ANSWER_SECONDS
    assert noticed + listener.PAUSE_SECONDS + CONNECT_SECONDS < 30


async def test_hung_listener_is_closed_after_the_loop_has_left_it(
    store: Store, hole: Hole, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(listener, "ALIVE_SECONDS", 0.2)
    monkeypatch.setattr(listener, "ANSWER_SECONDS", 0.2)
    loop, ask, close = asyncio.get_running_loop(), listener._ask, psycopg.AsyncConnection[tuple[str]].close
    descriptors = list[int]()
    watched: asyncio.Future[bool] = loop.create_future()

    async def asked(connection: listener.ListeningConnection) -> None:
        descriptors.append(connection.fileno())
        await ask(connection)

    async def closed(connection: psycopg.AsyncConnection[tuple[str]]) -> None:
        if not watched.done():
            watched.set_result(loop.remove_reader(descriptors[-1]))
        await close(connection)

    monkeypatch.setattr(listener, "_ask", asked)
    monkeypatch.setattr(psycopg.AsyncConnection, "close", closed)
    await store.database.listen(lambda _topic, _text: None)
    hole.swallow()
    # A descriptor that is closed while it is watched aborts uvloop, once another connection has got its number.
    async with asyncio.timeout(20):
        assert not await watched


def test_connections_are_refused_at_once_while_away(tmp_path: Path) -> None:
    now = 0.0
    reach = Reach(lambda: now)
    nowhere = f"postgresql://ebb@/postgres?host={tmp_path}"
    with pytest.raises(psycopg.OperationalError, match="No such file"):
        reach.connect(nowhere)
    with pytest.raises(psycopg.OperationalError, match="was away a moment ago"):
        reach.connect(SERVER)
    now = 2 * AWAY_SECONDS
    reach.connect(SERVER).close()
    reach.connect(SERVER).close()
