"""People with an account, and their logins. The secrets of logins are stored as digests only."""

import json
import secrets
import time
from collections.abc import Collection

from app.storage.connection import DatabaseConnection, Row
from app.storage.database import Database
from app.storage.matching import ListPlace, matching
from app.tenants.person import Identity, Person, PersonSession
from engine.api.errors import NotFoundError

COLUMNS = "id, tenant, issuer, subject, name, email, groups, created_at, last_seen_at, disabled_at"
SHOWN_COLUMNS = f"{COLUMNS}, provisioned"
SESSION_COLUMNS = "digest, id, person_id, client, created_at, expires_at"
MAX_SESSIONS = 32
"""Maximum number of logins per person. Beyond it, the oldest one ends."""
ID_BYTES = 8
NEVER_SEEN = 0.0
"""Stored time of an account that was created before its person first logged in."""


class PersonStore:
    """The people of the server and their logins.

    Each method is one transaction or one read. Once a method has returned, its effect survives a crash of the process.
    """

    def __init__(self, database: Database) -> None:
        self._database = database

    async def meet(self, identity: Identity) -> Person:
        """Store what is known about a person now, and return the account, which is created at the first meeting.

        A provisioned account keeps its groups.
        """
        groups = json.dumps(identity.groups, ensure_ascii=False)
        person_id, now = secrets.token_hex(ID_BYTES), time.time()

        def upsert(connection: DatabaseConnection) -> Person:
            connection.execute(
                f"INSERT INTO person({COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, NULL) "
                "ON CONFLICT(issuer, subject) DO UPDATE SET name = excluded.name, email = excluded.email, "
                "groups = CASE WHEN person.provisioned THEN person.groups ELSE excluded.groups END, "
                "last_seen_at = excluded.last_seen_at",
                (
                    person_id,
                    f"person-{person_id}",
                    identity.issuer,
                    identity.subject,
                    identity.name,
                    identity.email,
                    groups,
                    now,
                    now,
                ),
            )
            row = connection.fetch_one(
                f"SELECT {SHOWN_COLUMNS} FROM person WHERE issuer = ? AND subject = ?",
                (identity.issuer, identity.subject),
            )
            assert row is not None
            return person_of(row)

        return await self._database.write(upsert)

    async def all(self) -> list[Person]:
        """Return all people, in the order of their first login."""
        return await self._database.read_as(
            person_of, f"SELECT {SHOWN_COLUMNS} FROM person ORDER BY created_at, id", ()
        )

    async def page(self, *, after: ListPlace, query: str, limit: int) -> list[Person]:
        """Return the first people after a place, in the order of their first login.

        query: a text in the person's name, address, subject or tenant; "" accepts all.
        """
        sql = f"SELECT {SHOWN_COLUMNS} FROM person WHERE (created_at, id) > (:at, :id) ORDER BY created_at, id"
        place = {"at": after[0], "id": after[1]}
        searched = ("name", "email", "subject", "tenant")
        return await self._database.read_together(
            lambda connection: [person_of(row) for row in matching(connection, sql, place, searched, query, limit)]
        )

    async def mark_seen(self, person_ids: Collection[str], at: float) -> None:
        """Record when people were last seen.

        at: Unix seconds.
        """

        def update(connection: DatabaseConnection) -> None:
            connection.execute_many("UPDATE person SET last_seen_at = ? WHERE id = ?", [(at, id) for id in person_ids])

        await self._database.write(update, durable=False)

    async def set_disabled(self, person_id: str, disabled: bool) -> Person:
        """Disable a person and end their logins, or allow the person to log in again. Raise NotFoundError."""

        def update(connection: DatabaseConnection) -> Person:
            connection.execute(
                "UPDATE person SET disabled_at = ? WHERE id = ?", (time.time() if disabled else None, person_id)
            )
            row = connection.fetch_one(f"SELECT {SHOWN_COLUMNS} FROM person WHERE id = ?", (person_id,))
            if row is None:
                raise NotFoundError(f"There is no person {person_id}", param="id", code="person_not_found")
            if disabled:
                connection.execute("DELETE FROM person_session WHERE person_id = ?", (person_id,))
            return person_of(row)

        return await self._database.write(update)

    async def forget(self, tenant: str) -> None:
        """Remove the person of a tenant with their logins. A disabled person stays, and stays disabled."""

        def delete(connection: DatabaseConnection) -> None:
            of_tenant = "SELECT id FROM person WHERE tenant = ?"
            connection.execute(f"DELETE FROM person_session WHERE person_id IN ({of_tenant})", (tenant,))
            connection.execute("DELETE FROM person WHERE tenant = ? AND disabled_at IS NULL", (tenant,))

        await self._database.write(delete)

    async def log_in(self, digest: bytes, session: PersonSession) -> None:
        """Store a login. Removes expired ones, and the oldest ones of the same person beyond MAX_SESSIONS."""

        def insert(connection: DatabaseConnection) -> None:
            connection.execute("DELETE FROM person_session WHERE expires_at <= ?", (time.time(),))
            connection.execute(
                "DELETE FROM person_session WHERE person_id = ? AND digest NOT IN (SELECT digest FROM person_session "
                "WHERE person_id = ? ORDER BY expires_at DESC LIMIT ?)",
                (session.person_id, session.person_id, MAX_SESSIONS - 1),
            )
            connection.execute(
                f"INSERT INTO person_session({SESSION_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?)",
                (digest, session.id, session.person_id, session.client, session.created_at, session.expires_at),
            )
            connection.execute(
                "UPDATE person SET last_seen_at = ? WHERE id = ?", (session.created_at, session.person_id)
            )

        await self._database.write(insert)

    async def end_session(self, person_id: str, session_id: str) -> None:
        """End a login of a person. Raise NotFoundError."""

        def delete(connection: DatabaseConnection) -> None:
            ended = connection.execute(
                "DELETE FROM person_session WHERE person_id = ? AND id = ?", (person_id, session_id)
            )
            if not ended:
                raise NotFoundError(f"There is no session {session_id}", param="id", code="session_not_found")

        await self._database.write(delete)

    async def sessions_of(self, person_id: str) -> list[PersonSession]:
        """Return the valid logins of a person, the newest first."""
        return await self._database.read_as(
            session_of,
            f"SELECT {SESSION_COLUMNS} FROM person_session WHERE person_id = ? AND expires_at > ? "
            "ORDER BY created_at DESC, id",
            (person_id, time.time()),
        )


def person_of(row: Row) -> Person:
    """Convert a row of `person`."""
    groups = tuple(json.loads(row["groups"]))
    identity = Identity(row["issuer"], row["subject"], row["name"], row["email"], groups)
    return Person(
        id=row["id"],
        tenant=row["tenant"],
        identity=identity,
        created_at=row["created_at"],
        last_seen_at=row["last_seen_at"] if row["last_seen_at"] != NEVER_SEEN else None,
        disabled_at=row["disabled_at"],
        provisioned=bool(row["provisioned"]),
    )


def session_of(row: Row) -> PersonSession:
    """Convert a row of `person_session`."""
    return PersonSession(row["id"], row["person_id"], row["client"], row["created_at"], row["expires_at"])
