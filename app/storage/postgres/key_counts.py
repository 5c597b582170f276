"""The number of API keys in a PostgreSQL database, which a server may be using."""

import psycopg

from app.storage.key_counts import KeyCounts
from app.storage.postgres.database import refusal
from app.storage.postgres.limits import CONNECT_SECONDS
from engine.api.errors import EbbError


def count_keys(url: str) -> KeyCounts:
    """Count the keys in the database at `url`. One without a schema counts as having none.

    Raise EbbError: the database cannot be read.
    """
    try:
        with psycopg.connect(url, autocommit=True, connect_timeout=CONNECT_SECONDS) as connection:
            [has_keys] = connection.execute("SELECT to_regclass('api_key') IS NOT NULL").fetchone() or [False]
            if not has_keys:
                return KeyCounts(0, 0)
            row = connection.execute(
                "SELECT count(*), count(*) FILTER (WHERE revoked_at IS NULL) FROM api_key"
            ).fetchone()
    except psycopg.Error as error:
        raise EbbError(refusal(url, error)) from error
    return KeyCounts(*row) if row is not None else KeyCounts(0, 0)
