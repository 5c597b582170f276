"""The keys, logins, people and limits that decide on access. Each server holds all of them, and reads what has changed.

Triggers note each changed row in `access_change`, which keeps the last CHANGES. A server reads the changes after the
last one that it knows. If that one is missing, because too many have followed it or a failover has lost it, the server
reads everything again.
"""

import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Final, TypeVar

from app.storage.connection import DatabaseConnection, Row
from app.storage.database import Database
from app.storage.keys import COLUMNS as KEY_COLUMNS
from app.storage.keys import LOGIN_COLUMNS, Login, key_of, login_of
from app.storage.limits import COLUMNS as LIMIT_COLUMNS
from app.storage.limits import limits_of
from app.storage.people import SESSION_COLUMNS, SHOWN_COLUMNS, person_of, session_of
from app.tenants.api_key import ApiKey
from app.tenants.limits import TenantLimits
from app.tenants.person import Person, PersonSession

T = TypeVar("T")
K = TypeVar("K", str, bytes)

CHANGES: Final = 5000
"""Changes that the triggers keep, and up to 99 more on PostgreSQL."""
BATCH: Final = 500
"""Rows that are read by their names at a time."""


@dataclass(frozen=True, slots=True)
class ChangePlace:
    """A change in `access_change`.

    mark: drawn at random, since a failover may use a number twice.
    """

    number: int
    mark: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AccessReading:
    """All rows, or those that have changed, by id, digest or tenant. None stands for a removed row.

    place: the last change that the reading contains.
    is_whole: whether these are all rows, without revoked keys and expired logins.
    has_keys: whether a key is known to have been created, even if it is revoked.
    """

    place: ChangePlace
    is_whole: bool
    has_keys: bool
    keys: Mapping[str, ApiKey | None] = field(default_factory=dict)
    logins: Mapping[bytes, Login | None] = field(default_factory=dict)
    people: Mapping[str, Person | None] = field(default_factory=dict)
    sessions: Mapping[bytes, PersonSession | None] = field(default_factory=dict)
    limits: Mapping[str, TenantLimits | None] = field(default_factory=dict)


class AccessStore:
    """The rows that decide on access, read on a separate connection."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def read(self, since: ChangePlace | None = None) -> AccessReading:
        """Read what has changed since a reading; everything if `since` is None, or no longer known."""
        return await self._database.read_keys(
            lambda connection: (_changes(connection, since) if since is not None else None) or _everything(connection)
        )


def _changes(connection: DatabaseConnection, since: ChangePlace) -> AccessReading | None:
    """Read the rows that have changed since a place; None if the place is no longer known."""
    rows = connection.fetch_all(
        "SELECT number, mark, kind, name FROM access_change WHERE number >= ? ORDER BY number", (since.number,)
    )
    if not rows or _place(rows[0]) != since:
        return None
    changed: dict[str, set[str]] = {}
    for row in rows[1:]:
        changed.setdefault(row["kind"], set()).add(row["name"])
    ids, people, tenants = (changed.get(kind, set()) for kind in ("api_key", "person", "tenant_limits"))
    logins, sessions = ({bytes.fromhex(name) for name in changed.get(kind, ())} for kind in ("login", "person_session"))
    return AccessReading(
        place=_place(rows[-1]),
        is_whole=False,
        has_keys=bool(ids),
        keys=_named(connection, key_of, f"SELECT {KEY_COLUMNS} FROM api_key WHERE id", ids, "id"),
        logins=_named(connection, login_of, f"SELECT {LOGIN_COLUMNS} FROM login WHERE digest", logins, "digest"),
        people=_named(connection, person_of, f"SELECT {SHOWN_COLUMNS} FROM person WHERE id", people, "id"),
        sessions=_named(
            connection, session_of, f"SELECT {SESSION_COLUMNS} FROM person_session WHERE digest", sessions, "digest"
        ),
        limits=_named(
            connection, limits_of, f"SELECT tenant, {LIMIT_COLUMNS} FROM tenant_limits WHERE tenant", tenants, "tenant"
        ),
    )


def _everything(connection: DatabaseConnection) -> AccessReading:
    # The place comes first: a change during the reading is read again, and none is missed.
    last = connection.fetch_one("SELECT number, mark FROM access_change ORDER BY number DESC LIMIT 1")
    assert last is not None
    now = time.time()
    return AccessReading(
        place=_place(last),
        is_whole=True,
        has_keys=connection.fetch_one("SELECT 1 AS found FROM api_key LIMIT 1") is not None,
        keys={
            row["id"]: key_of(row)
            for row in connection.iterate(f"SELECT {KEY_COLUMNS} FROM api_key WHERE revoked_at IS NULL")
        },
        logins={
            row["digest"]: login_of(row)
            for row in connection.iterate(f"SELECT {LOGIN_COLUMNS} FROM login WHERE expires_at > ?", (now,))
        },
        people={row["id"]: person_of(row) for row in connection.iterate(f"SELECT {SHOWN_COLUMNS} FROM person")},
        sessions={
            row["digest"]: session_of(row)
            for row in connection.iterate(f"SELECT {SESSION_COLUMNS} FROM person_session WHERE expires_at > ?", (now,))
        },
        limits={
            row["tenant"]: limits_of(row)
            for row in connection.iterate(f"SELECT tenant, {LIMIT_COLUMNS} FROM tenant_limits")
        },
    )


def _named(
    connection: DatabaseConnection, make: Callable[[Row], T], selection: str, names: Collection[K], column: str
) -> dict[K, T | None]:
    """Read the rows with `names`, of which some may be missing."""
    found: dict[K, T | None] = dict.fromkeys(names)
    wanted = list(names)
    for start in range(0, len(wanted), BATCH):
        batch = wanted[start : start + BATCH]
        marks = ", ".join("?" * len(batch))
        found |= {row[column]: make(row) for row in connection.iterate(f"{selection} IN ({marks})", batch)}
    return found


def _place(row: Row) -> ChangePlace:
    return ChangePlace(row["number"], row["mark"])
