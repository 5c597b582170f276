"""People and groups that a provider provisions (SCIM 2.0), and what follows for accounts and logins.

A provisioned person is a row of `person`, too: an account that exists before the first login. The groups of the account
are those of the memberships here, whatever a login reports.
"""

import secrets
import time
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Final, Literal

from app.storage.connection import DatabaseConnection, Row
from app.storage.database import Database
from app.storage.memberships import Memberships
from app.storage.people import ID_BYTES, NEVER_SEEN
from app.tenants.person import Identity
from engine.api.errors import ConflictError, NotFoundError

UserColumn = Literal["user_key", "external_id", "id"]
GroupColumn = Literal["name_key", "external_id", "id"]
Kind = Literal["scim_user", "scim_group"]
PAGE: Final = 500
"""Rows that are read at a time."""


@dataclass(frozen=True, slots=True)
class Member:
    """An end of a membership: a group of a user, or a user of a group.

    name: name of the group, or what the provider says about the user; None if it says nothing.
    """

    id: str
    name: str | None = None


@dataclass(frozen=True, slots=True)
class StoredResource:
    """A user or a group as it is stored. Times are Unix seconds.

    body: the resource as JSON, without what the fields of this record say.
    links: groups of a user, or users of a group.
    """

    id: str
    body: str
    version: int
    created_at: float
    changed_at: float
    links: tuple[Member, ...] = ()


@dataclass(frozen=True, slots=True)
class UserFields:
    """A user to be stored.

    identity: the account at the login; its groups have no meaning here.
    user_key: the user name in the form in which names are compared.
    active: whether the person may log in.
    """

    identity: Identity
    user_key: str
    external_id: str | None
    active: bool
    body: str


@dataclass(frozen=True, slots=True)
class GroupFields:
    """A group to be stored.

    name_key: the name in the form in which names are compared.
    members: what the provider says about each user, by id.
    """

    name: str
    name_key: str
    external_id: str | None
    body: str
    members: Mapping[str, str | None] = field(default_factory=dict)


class ProvisioningStore:
    """The provisioned people and groups. A change of a group is a series of transactions, of which the last one is
    durable. Any other method is one transaction or a few reads."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._memberships = Memberships(database)

    async def users(
        self, column: UserColumn | None = None, value: str = "", *, limit: int = PAGE, offset: int = 0
    ) -> list[StoredResource]:
        """Return users in the order of their ids: all, or those with `value` in `column`."""
        rows = await self._rows("scim_user", column, value, limit, offset)
        links = await self._links("user_id", "scim_group.id, scim_group.name", [row["id"] for row in rows])
        return [_stored(row, links.get(row["id"], ())) for row in rows]

    async def groups(
        self,
        column: GroupColumn | None = None,
        value: str = "",
        *,
        limit: int = PAGE,
        offset: int = 0,
        members: bool = True,
    ) -> list[StoredResource]:
        """Return groups in the order of their ids: all, or those with `value` in `column`.

        members: whether to read the members, too.
        """
        rows = await self._rows("scim_group", column, value, limit, offset)
        found = [row["id"] for row in rows] if members else []
        links = await self._links("group_id", "scim_member.user_id AS id, display AS name", found)
        return [_stored(row, links.get(row["id"], ())) for row in rows]

    async def count(self, kind: Kind) -> int:
        """Return the number of users or of groups."""
        [row] = await self._database.read(f"SELECT count(*) AS n FROM {kind}")
        return int(row["n"])

    async def create_user(self, user: UserFields) -> str:
        """Store a new user, whose account is created unless it exists, and return its id. Raise ConflictError."""

        def insert(connection: DatabaseConnection) -> str:
            person_id = _account_of(connection, user.identity)
            _check_free(connection, "scim_user", "user_key", user.user_key, person_id, "userName")
            now = time.time()
            added = connection.execute(
                "INSERT INTO scim_user VALUES (?, ?, ?, ?, ?, 1, ?, ?) ON CONFLICT DO NOTHING",
                (person_id, user.user_key, user.external_id, user.active, user.body, now, now),
            )
            if not added:
                raise ConflictError(f"The account {user.identity.subject} is provisioned already", code="uniqueness")
            connection.execute(
                "UPDATE person SET provisioned = TRUE, groups = '[]', disabled_at = NULL WHERE id = ?", (person_id,)
            )
            if not user.active:
                _disable(connection, person_id)
            return person_id

        return await self._database.write(insert)

    async def update_user(self, user_id: str, user: UserFields, version: int | None) -> None:
        """Replace a user. Raise NotFoundError, VersionError and ConflictError.

        The account is disabled or admitted only where `active` changes, so that it stays disabled if an administrator
        disabled it.

        version: the version that the user must have; None accepts any.
        """

        def update(connection: DatabaseConnection) -> None:
            before = _current(connection, "scim_user", user_id, version)
            _check_free(connection, "scim_user", "user_key", user.user_key, user_id, "userName")
            _rename(connection, user_id, user.identity)
            connection.execute(
                "UPDATE scim_user SET user_key = ?, external_id = ?, active = ?, body = ?, version = version + 1, "
                "changed_at = ? WHERE id = ?",
                (user.user_key, user.external_id, user.active, user.body, time.time(), user_id),
            )
            if bool(before["active"]) and not user.active:
                _disable(connection, user_id)
            elif user.active and not bool(before["active"]):
                connection.execute("UPDATE person SET disabled_at = NULL WHERE id = ?", (user_id,))

        await self._database.write(update)

    async def delete_user(self, user_id: str, version: int | None) -> None:
        """Remove a user. The account keeps its chats, and is disabled. Raise NotFoundError, VersionError."""

        def delete(connection: DatabaseConnection) -> None:
            _current(connection, "scim_user", user_id, version)
            _disable(connection, user_id)
            connection.execute("UPDATE person SET provisioned = FALSE, groups = '[]' WHERE id = ?", (user_id,))
            connection.execute("DELETE FROM scim_user WHERE id = ?", (user_id,))

        await self._database.write(delete)

    async def create_group(self, group: GroupFields) -> str:
        """Store a new group, and return its id. Raise ConflictError, InvalidRequestError."""
        group_id = secrets.token_hex(ID_BYTES)
        await self._memberships.check_users(group.members)

        def insert(connection: DatabaseConnection) -> None:
            _check_free(connection, "scim_group", "name_key", group.name_key, group_id, "displayName")
            now = time.time()
            connection.execute(
                "INSERT INTO scim_group(id, name, name_key, external_id, body, version, created_at, changed_at) "
                "VALUES (?, ?, ?, ?, ?, 1, ?, ?)",
                (group_id, group.name, group.name_key, group.external_id, group.body, now, now),
            )

        await self._database.write(insert, durable=False)
        await self._complete(group_id, group, 1)
        return group_id

    async def update_group(self, group_id: str, group: GroupFields, version: int | None) -> None:
        """Replace a group. Raise NotFoundError, VersionError, ConflictError and InvalidRequestError."""
        await self._memberships.check_users(group.members)

        def update(connection: DatabaseConnection) -> int:
            before = _current(connection, "scim_group", group_id, version)
            _check_free(connection, "scim_group", "name_key", group.name_key, group_id, "displayName")
            connection.execute(
                "UPDATE scim_group SET name = ?, name_key = ?, external_id = ?, body = ?, version = version + 1, "
                "renewed_to = ? WHERE id = ?",
                (
                    group.name,
                    group.name_key,
                    group.external_id,
                    group.body,
                    before["renewed_to"] if before["name"] == group.name else "",
                    group_id,
                ),
            )
            return int(before["version"]) + 1

        await self._complete(group_id, group, await self._database.write(update, durable=False))

    async def delete_group(self, group_id: str, version: int | None) -> None:
        """Remove a group. Raise NotFoundError, VersionError."""

        def delete(connection: DatabaseConnection) -> bool:
            _current(connection, "scim_group", group_id, version)
            if connection.fetch_one("SELECT 1 FROM scim_member WHERE group_id = ?", (group_id,)) is not None:
                return False
            connection.execute("DELETE FROM scim_group WHERE id = ?", (group_id,))
            return True

        while not await self._database.write(delete):
            await self._memberships.clear(group_id)

    async def _complete(self, group_id: str, group: GroupFields, version: int) -> None:
        """Write what may take long after a group itself, and wait for the disk."""

        def check(connection: DatabaseConnection) -> None:
            _current(connection, "scim_group", group_id, version)

        def note(connection: DatabaseConnection) -> None:
            connection.execute(
                "UPDATE scim_group SET changed_at = ? WHERE id = ? AND version = ?", (time.time(), group_id, version)
            )

        await self._memberships.replace(group_id, group.members, check)
        await self._memberships.renew(group_id)
        await self._database.write(note)

    async def _rows(self, kind: Kind, column: str | None, value: str, limit: int, offset: int) -> list[Row]:
        where, parameters = (f" WHERE {column} = ?", (value,)) if column is not None else ("", ())
        return await self._database.read(
            f"SELECT id, body, version, created_at, changed_at FROM {kind}{where} ORDER BY id LIMIT ? OFFSET ?",
            (*parameters, limit, offset),
        )

    async def _links(self, end: str, columns: str, ids: Collection[str]) -> dict[str, tuple[Member, ...]]:
        if not ids:
            return {}
        sql = (
            f"SELECT scim_member.{end} AS owner, {columns} FROM scim_member "
            f"JOIN scim_group ON scim_group.id = scim_member.group_id "
            f"WHERE scim_member.{end} IN ({', '.join('?' * len(ids))}) ORDER BY 1, 2"
        )

        def read(connection: DatabaseConnection) -> dict[str, tuple[Member, ...]]:
            # A group may have all people of the server.
            links: dict[str, list[Member]] = {}
            for row in connection.iterate(sql, tuple(ids)):
                links.setdefault(row["owner"], []).append(Member(row["id"], row["name"]))
            return {owner: tuple(found) for owner, found in links.items()}

        return await self._database.read_together(read)


class VersionError(ConflictError):
    """412: the user or the group has changed since the client read it."""

    status = 412
    code = "version_mismatch"


def _account_of(connection: DatabaseConnection, identity: Identity) -> str:
    """Return the id of the account of an identity, which is created unless it exists."""
    person_id, now = secrets.token_hex(ID_BYTES), time.time()
    connection.execute(
        "INSERT INTO person(id, tenant, issuer, subject, name, email, groups, created_at, last_seen_at) "
        "VALUES (?, ?, ?, ?, ?, ?, '[]', ?, ?) ON CONFLICT(issuer, subject) DO NOTHING",
        (
            person_id,
            f"person-{person_id}",
            identity.issuer,
            identity.subject,
            identity.name,
            identity.email,
            now,
            NEVER_SEEN,
        ),
    )
    row = connection.fetch_one(
        "SELECT id FROM person WHERE issuer = ? AND subject = ?", (identity.issuer, identity.subject)
    )
    assert row is not None
    return str(row["id"])


def _rename(connection: DatabaseConnection, person_id: str, identity: Identity) -> None:
    """Give an account the identity of its user. Raise ConflictError: another account has that subject."""
    sql = "SELECT id FROM person WHERE issuer = ? AND subject = ? AND id <> ?"
    if connection.fetch_one(sql, (identity.issuer, identity.subject, person_id)) is not None:
        raise ConflictError(f"The account {identity.subject} belongs to another person", code="uniqueness")
    connection.execute(
        "UPDATE person SET issuer = ?, subject = ?, name = ?, email = ? WHERE id = ?",
        (identity.issuer, identity.subject, identity.name, identity.email, person_id),
    )


def _disable(connection: DatabaseConnection, person_id: str) -> None:
    connection.execute(
        "UPDATE person SET disabled_at = ? WHERE id = ? AND disabled_at IS NULL", (time.time(), person_id)
    )
    connection.execute("DELETE FROM person_session WHERE person_id = ?", (person_id,))


def _current(connection: DatabaseConnection, kind: Kind, resource_id: str, version: int | None) -> Row:
    row = connection.fetch_one(f"SELECT * FROM {kind} WHERE id = ?", (resource_id,))
    if row is None:
        raise NotFoundError(f"There is no resource {resource_id}", param="id", code="resource_not_found")
    if version is not None and row["version"] != version:
        raise VersionError(f"The resource {resource_id} has changed: it is at version {row['version']} now")
    return row


def _check_free(
    connection: DatabaseConnection, kind: Kind, column: str, key: str, resource_id: str, attribute: str
) -> None:
    row = connection.fetch_one(f"SELECT id FROM {kind} WHERE {column} = ? AND id <> ?", (key, resource_id))
    if row is not None:
        raise ConflictError(f"Another resource has this {attribute}", param=attribute, code="uniqueness")


def _stored(row: Row, links: tuple[Member, ...]) -> StoredResource:
    return StoredResource(row["id"], row["body"], row["version"], row["created_at"], row["changed_at"], links)
