"""`ebb migrate`: copy the conversations of the file in the state directory into PostgreSQL."""

import asyncio
import os
import sys
import time

from app.config.settings import Settings, lock_state_dir
from app.storage.errors import UnusableDatabaseError
from app.storage.store import Store
from engine.api.errors import EbbError

SHOW_SECONDS = 1.0


def migrate(settings: Settings) -> int:
    """Copy the file into the database of `--database-url`, and compare both. The file stays as it is.

    Raise EbbError: a server runs, or the copy is not possible. Repeating the command continues an interrupted copy.
    """
    if not settings.database_url:
        raise EbbError("Name the PostgreSQL database to copy into: ebb migrate --database-url postgresql://...")
    if not settings.database.exists():
        raise EbbError(f"{settings.database} does not exist: there are no conversations to copy")
    lock = lock_state_dir(settings.state_dir)
    if lock is None:
        raise EbbError(f"A server is using {settings.state_dir}: stop it (Ctrl-C or SIGTERM), then try again")
    try:
        asyncio.run(_copy(settings))
    except UnusableDatabaseError as error:
        raise EbbError(str(error)) from error
    finally:
        os.close(lock)
    print(
        f"Copied and compared. {settings.database} is unchanged. Start the server with --database-url from now on",
        file=sys.stderr,
    )
    return 0


async def _copy(settings: Settings) -> None:
    # A server on SQLite starts without psycopg, which is an extra.
    from app.storage.postgres.copying import FileCopy, Progress
    from app.storage.postgres.database import PostgresDatabase

    # Brings a file of an earlier version to the newest schema.
    store = await Store.open(settings.database)
    await store.close()
    shown_at = 0.0

    def show(progress: Progress) -> None:
        nonlocal shown_at
        if progress.copied == progress.rows or time.monotonic() - shown_at >= SHOW_SECONDS:
            shown_at = time.monotonic()
            print(f"{progress.table}: {progress.copied:,} of {progress.rows:,} rows", file=sys.stderr)

    target = await PostgresDatabase.open(settings.database_url, for_copy=True)
    try:
        await FileCopy(settings.database, target).run(show)
    finally:
        await target.close()
