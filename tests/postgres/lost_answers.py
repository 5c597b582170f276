"""COMMITs of a server whose answers are lost."""

import psycopg
import pytest

from app.storage.postgres.database import PostgresDatabase


def lose_answer_to_commit(monkeypatch: pytest.MonkeyPatch, *, is_away: bool = False) -> None:
    """Lose the connection after the next transaction is committed.

    is_away: whether the next connection is lost too, before it shows whether the transaction is stored.
    """
    commit, begin = PostgresDatabase._commit, PostgresDatabase._begin

    def commit_unheard(database: PostgresDatabase) -> bool:
        monkeypatch.setattr(PostgresDatabase, "_commit", commit)
        assert commit(database)
        database._writer.raw.close()
        if is_away:
            monkeypatch.setattr(PostgresDatabase, "_begin", fail)
        return False

    def fail(_: PostgresDatabase) -> None:
        monkeypatch.setattr(PostgresDatabase, "_begin", begin)
        raise psycopg.OperationalError("PostgreSQL is away")

    monkeypatch.setattr(PostgresDatabase, "_commit", commit_unheard)
