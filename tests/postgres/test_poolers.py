"""PgBouncer before PostgreSQL: in its mode `session` servers work, and in its mode `transaction` none starts."""

import asyncio
import os
import shutil
import signal
import subprocess
import tempfile
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict

from app.config.settings import load_settings
from app.doctor.checks import check_conversations
from app.storage.errors import UnusableDatabaseError
from app.storage.store import Store
from tests.on_postgres import SERVER
from tests.postgres.server import WHOLE_ANSWER, end_of, server
from tests.waiting import until

PORT = 6432
"""Part of the name of a socket, in a separate folder."""


@contextmanager
def own_database(options: str = "") -> Iterator[str]:
    """Make a database for the duration of the context: PgBouncer passes no `search_path` on."""
    name = f"pooled_{uuid.uuid4().hex}"
    with psycopg.connect(SERVER, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name} {options}".encode())
    try:
        yield name
    finally:
        with psycopg.connect(SERVER, autocommit=True) as connection:
            connection.execute(f"DROP DATABASE {name} WITH (FORCE)".encode())


@contextmanager
def pgbouncer(mode: str) -> Iterator[str]:
    """Run a PgBouncer for the duration of the context, and yield the address of a new database behind it."""
    given = conninfo_to_dict(SERVER)
    # PgBouncer refuses to run as root, and the folders of tests are closed to all others.
    user = 65534 if os.getuid() == 0 else None
    home = Path(tempfile.mkdtemp())
    with own_database() as database:
        settings = home / "pgbouncer.ini"
        settings.write_text(
            f"[databases]\n{database} = host={given['host']} user={given['user']}\n"
            f"[pgbouncer]\npool_mode = {mode}\nauth_type = any\nunix_socket_dir = {home}\nlisten_port = {PORT}\n"
        )
        for path in (home, settings):
            path.chmod(0o755)
            os.chown(path, -1 if user is None else user, -1)
        with subprocess.Popen(["pgbouncer", "--quiet", str(settings)], user=user) as process:
            try:
                until((home / f".s.PGSQL.{PORT}").exists)
                yield f"postgresql://{given['user']}@/{database}?host={home}&port={PORT}"
            finally:
                process.send_signal(signal.SIGTERM)
    shutil.rmtree(home)


@pytest.fixture
def pooled(request: pytest.FixtureRequest) -> Iterator[str]:
    with pgbouncer(request.param) as url:
        yield url


@pytest.mark.parametrize("pooled", ["session"], indirect=True)
async def test_servers_behind_a_pooler_of_sessions_share_chats(pooled: str, tmp_path: Path) -> None:
    async with server(tmp_path, "first", url=pooled) as first, server(tmp_path, "second", url=pooled) as second:
        await first.lease.renew()
        with second.services.records.changes.followed("local") as follower:
            run = await first.ask()
            async with asyncio.timeout(20):
                assert await follower.wait()
        assert (await end_of(run)).content == WHOLE_ANSWER
        assert (await second.stored(run)).content == WHOLE_ANSWER


@pytest.mark.parametrize("pooled", ["transaction"], indirect=True)
async def test_pooler_of_transactions_is_refused_by_name(pooled: str) -> None:
    def changed() -> list[tuple[str, ...]]:
        with psycopg.connect(pooled, autocommit=True) as connection:
            return connection.execute("SELECT name, setting FROM pg_settings WHERE source = 'session'").fetchall()

    before = changed()
    for _ in range(3):
        with pytest.raises(UnusableDatabaseError, match="pool_mode=session"):
            await Store.open_postgres(pooled)
    settings = load_settings({}, environ={"EBB_DATABASE_URL": pooled})
    finding = await asyncio.to_thread(check_conversations, settings)
    assert finding.level == "fail"
    assert "pool_mode=session" in finding.text
    # The sessions of a pooler serve others too.
    assert changed() == before


async def test_database_of_another_encoding_is_refused_by_name() -> None:
    options = "ENCODING 'LATIN1' LC_COLLATE 'C' LC_CTYPE 'C' TEMPLATE template0"
    with own_database(options) as name, pytest.raises(UnusableDatabaseError, match="its encoding is LATIN1"):
        await Store.open_postgres(SERVER.replace("/postgres?", f"/{name}?"))
