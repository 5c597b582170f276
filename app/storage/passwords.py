"""Passwords and second factors of people who log in without a provider."""

import json
import secrets
import time
from collections.abc import Sequence
from dataclasses import dataclass

from app.storage.connection import DatabaseConnection
from app.storage.database import Database
from app.storage.people import COLUMNS, ID_BYTES, NEVER_SEEN, SHOWN_COLUMNS, person_of
from app.tenants.person import ADMIN_GROUP, OWN, Person
from engine.api.errors import ConflictError, NotFoundError


@dataclass(frozen=True, slots=True)
class SecondFactor:
    """A second factor of a login.

    secret: shared with the person's device.
    is_confirmed: whether logins require it.
    """

    secret: bytes
    is_confirmed: bool


@dataclass(frozen=True, slots=True)
class StoredPassword:
    """The password of a person.

    digest: as `app.accounts.passwords` encodes it.
    is_initial: whether an administrator set it.
    factor: None without a second factor.
    """

    person_id: str
    digest: str
    is_initial: bool
    factor: SecondFactor | None


class PasswordStore:
    """The passwords of the server's people. Each method is one transaction or one read."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def add(self, name: str, digest: str, *, admin: bool) -> Person:
        """Create the account of a person with an initial password. Raise ConflictError: the name is taken.

        Names that differ only in case are the same.
        """
        person_id, now = secrets.token_hex(ID_BYTES), time.time()
        groups = json.dumps([ADMIN_GROUP] if admin else [])

        def insert(connection: DatabaseConnection) -> Person:
            found = connection.execute(
                f"INSERT INTO person({COLUMNS}) VALUES (?, ?, ?, ?, ?, '', ?, ?, ?, NULL) ON CONFLICT DO NOTHING",
                (person_id, f"person-{person_id}", OWN, name.lower(), name, groups, now, NEVER_SEEN),
            )
            if not found:
                raise ConflictError(f"There is a person named {name} already", param="name", code="person_exists")
            connection.execute("INSERT INTO password VALUES (?, ?, TRUE, ?)", (person_id, digest, now))
            row = connection.fetch_one(f"SELECT {SHOWN_COLUMNS} FROM person WHERE id = ?", (person_id,))
            assert row is not None
            return person_of(row)

        return await self._database.write(insert)

    async def set_admin(self, person_id: str, admin: bool) -> Person:
        """Make a person an administrator, or a user. Raise NotFoundError: no person with a password has this id."""
        groups = json.dumps([ADMIN_GROUP] if admin else [])

        def update(connection: DatabaseConnection) -> Person:
            connection.execute(
                "UPDATE person SET groups = ? WHERE id = ? AND issuer = ? AND NOT provisioned", (groups, person_id, OWN)
            )
            row = connection.fetch_one(
                f"SELECT {SHOWN_COLUMNS} FROM person WHERE id = ? AND issuer = ? AND NOT provisioned", (person_id, OWN)
            )
            if row is None:
                raise NotFoundError(
                    f"There is no person {person_id} with a password of this server. The roles of others follow from "
                    "their groups",
                    param="id",
                    code="person_not_found",
                )
            return person_of(row)

        return await self._database.write(update)

    async def find(self, name: str) -> StoredPassword | None:
        """Return the password of the person with a name; None if there is none."""
        rows = await self._database.read(
            "SELECT person_id, digest, is_initial, secret, is_confirmed FROM password "
            "JOIN person ON person.id = person_id LEFT JOIN second_factor USING (person_id) "
            "WHERE issuer = ? AND subject = ?",
            (OWN, name.lower()),
        )
        if not rows:
            return None
        [row] = rows
        factor = SecondFactor(row["secret"], bool(row["is_confirmed"])) if row["secret"] is not None else None
        return StoredPassword(row["person_id"], row["digest"], bool(row["is_initial"]), factor)

    async def change(self, person_id: str, digest: str, session_id: str | None) -> None:
        """Store a password that the person chose, and end the person's logins, except `session_id`.

        Raise NotFoundError.
        """
        await self._database.write(lambda connection: _replace(connection, person_id, digest, False, session_id))

    async def reset(self, person_id: str, digest: str) -> None:
        """Store an initial password, remove the second factor, and end the person's logins. Raise NotFoundError."""

        def update(connection: DatabaseConnection) -> None:
            _replace(connection, person_id, digest, True, None)
            connection.execute("DELETE FROM second_factor WHERE person_id = ?", (person_id,))

        await self._database.write(update)

    async def begin_factor(self, person_id: str, secret: bytes) -> None:
        """Store a second factor that is not confirmed yet. Raise ConflictError: there is a confirmed one."""

        def insert(connection: DatabaseConnection) -> None:
            connection.execute("DELETE FROM second_factor WHERE person_id = ? AND NOT is_confirmed", (person_id,))
            added = connection.execute(
                "INSERT INTO second_factor(person_id, secret) VALUES (?, ?) ON CONFLICT DO NOTHING", (person_id, secret)
            )
            if not added:
                raise ConflictError("There is a second factor already: remove it first", code="second_factor_exists")

        await self._database.write(insert)

    async def confirm_factor(self, person_id: str, step: int, recovery: Sequence[str]) -> bool:
        """Have logins require the second factor from now on. Returns False if there is none to confirm.

        step: step of the code that confirms it, which is not accepted again.
        recovery: digests of the codes that replace the device, each for one login.
        """

        def update(connection: DatabaseConnection) -> int:
            return connection.execute(
                "UPDATE second_factor SET is_confirmed = TRUE, last_step = ?, recovery = ? "
                "WHERE person_id = ? AND NOT is_confirmed",
                (step, json.dumps(list(recovery)), person_id),
            )

        return await self._database.write(update) > 0

    async def remove_factor(self, person_id: str) -> None:
        """Remove the second factor, if there is one."""

        def delete(connection: DatabaseConnection) -> None:
            connection.execute("DELETE FROM second_factor WHERE person_id = ?", (person_id,))

        await self._database.write(delete)

    async def use_step(self, person_id: str, step: int) -> bool:
        """Record a login with the code of `step`. Returns False if that code, or a later one, was used before."""

        def update(connection: DatabaseConnection) -> int:
            return connection.execute(
                "UPDATE second_factor SET last_step = ? WHERE person_id = ? AND last_step < ?", (step, person_id, step)
            )

        return await self._database.write(update) > 0

    async def use_recovery(self, person_id: str, digest: str) -> bool:
        """Remove a recovery code that a login uses. Returns False if it is none, or was used before."""

        def update(connection: DatabaseConnection) -> bool:
            row = connection.fetch_one("SELECT recovery FROM second_factor WHERE person_id = ?", (person_id,))
            codes: list[str] = json.loads(row["recovery"]) if row is not None else []
            if digest not in codes:
                return False
            codes.remove(digest)
            connection.execute(
                "UPDATE second_factor SET recovery = ? WHERE person_id = ?", (json.dumps(codes), person_id)
            )
            return True

        return await self._database.write(update)


def _replace(
    connection: DatabaseConnection, person_id: str, digest: str, is_initial: bool, session_id: str | None
) -> None:
    changed = connection.execute(
        "UPDATE password SET digest = ?, is_initial = ?, changed_at = ? WHERE person_id = ?",
        (digest, is_initial, time.time(), person_id),
    )
    if not changed:
        raise NotFoundError(f"The person {person_id} has no password here", param="id", code="password_not_found")
    connection.execute("DELETE FROM person_session WHERE person_id = ? AND id <> ?", (person_id, session_id or ""))
