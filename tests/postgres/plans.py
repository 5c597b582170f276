"""The plans that PostgreSQL makes for the statements of a test."""

import re

import psycopg
import pytest

from app.storage.connection import Parameters, Row
from app.storage.postgres.connection import PostgresConnection


def noted_plans(monkeypatch: pytest.MonkeyPatch, pattern: str, *, is_analyzed: bool = True) -> list[str]:
    """Return a list that gets the plan of each statement in which a regular expression is found from now on.

    is_analyzed: whether the plan says what was read. Such a statement runs twice, so it must change nothing.
    """
    executed, plans = PostgresConnection._executed, list[str]()
    explain = "EXPLAIN (ANALYZE)" if is_analyzed else "EXPLAIN"

    def noted(self: PostgresConnection, statement: str, parameters: Parameters) -> psycopg.Cursor[Row]:
        if re.search(pattern, statement):
            plan = executed(self, f"{explain} {statement}", parameters)
            plans.append("\n".join(str(row["QUERY PLAN"]) for row in plan))
        return executed(self, statement, parameters)

    monkeypatch.setattr(PostgresConnection, "_executed", noted)
    return plans
