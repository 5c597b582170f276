"""Members of provisioned groups, and the groups of their accounts, in batches, since a group may have all people.

A batch ends by time, so that another writer waits for a short time even if the database is slow. A group whose name has
changed remembers how far the accounts of its members follow (`renewed_to`, an id of a user), so that a restarted server
continues there.
"""

import json
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from itertools import groupby
from typing import Final, TypeVar

from app.storage.connection import DatabaseConnection
from app.storage.database import Database
from app.storage.errors import MissingReferenceError
from engine.api.errors import InvalidRequestError

T = TypeVar("T")

BATCH: Final = 100
"""Maximum number of members in one transaction."""
BATCH_SECONDS: Final = 0.02
"""Time after which a transaction changes no further members."""
PIECE: Final = 10
"""Members that are changed between two looks at the clock."""

Check = Callable[[DatabaseConnection], None]


class Memberships:
    """The memberships of all groups. A method that writes is a series of transactions, none of which is durable."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def check_users(self, user_ids: Collection[str]) -> None:
        """Check that all users exist. Raise InvalidRequestError."""
        all_ids = list(user_ids)
        for start in range(0, len(all_ids), BATCH):
            ids = all_ids[start : start + BATCH]
            rows = await self._database.read(f"SELECT id FROM scim_user WHERE id IN ({_marks(ids)})", ids)
            if missing := set(ids) - {row["id"] for row in rows}:
                raise _no_user(min(missing))

    async def replace(self, group_id: str, members: Mapping[str, str | None], check: Check) -> None:
        """Give a group its members.

        members: what the provider says about each user, by id.
        check: called in each transaction; raises if the group has changed since.

        Raise InvalidRequestError for an unknown user, and what `check` raises.
        """
        removed, written = await self._database.read_together(partial(_differences, group_id=group_id, members=members))
        await self._in_batches(removed, partial(_remove, group_id=group_id, check=check))
        try:
            await self._in_batches(written, partial(_write, group_id=group_id, check=check))
        except MissingReferenceError:
            await self.check_users(members)
            raise

    async def clear(self, group_id: str) -> None:
        """Remove all members of a group."""
        while await self._database.write_batch(partial(_remove_some, group_id=group_id)):
            pass

    async def renew(self, group_id: str) -> None:
        """Have the accounts of the members follow the name of their group, as far as they do not yet."""
        while await self._database.write_batch(partial(_renew_some, group_id=group_id)):
            pass

    async def renew_all(self) -> None:
        """Continue what a stopped server has left."""
        for row in await self._database.read("SELECT id FROM scim_group WHERE renewed_to IS NOT NULL"):
            await self.renew(row["id"])

    async def _in_batches(self, values: Sequence[T], write: Callable[[DatabaseConnection, Sequence[T]], int]) -> None:
        """Write all values, of which each transaction receives some and returns how many of them it has written."""
        start = 0

        def write_some(connection: DatabaseConnection) -> int:
            return write(connection, values[start : start + BATCH])

        while start < len(values):
            start += await self._database.write_batch(write_some)


def _differences(
    connection: DatabaseConnection, *, group_id: str, members: Mapping[str, str | None]
) -> tuple[list[str], list[tuple[str, str | None]]]:
    """Return the users to remove from a group, and the members to write."""
    sql = "SELECT user_id, display FROM scim_member WHERE group_id = ?"
    before = {row["user_id"]: row["display"] for row in connection.iterate(sql, (group_id,))}
    removed = [user_id for user_id in before if user_id not in members]
    return removed, [each for each in members.items() if each[0] not in before or before[each[0]] != each[1]]


def _write(
    connection: DatabaseConnection, members: Sequence[tuple[str, str | None]], *, group_id: str, check: Check
) -> int:
    def write(piece: Sequence[tuple[str, str | None]]) -> None:
        connection.execute_many(
            "INSERT INTO scim_member VALUES (?, ?, ?) ON CONFLICT(group_id, user_id) DO UPDATE "
            "SET display = excluded.display",
            [(group_id, user_id, display) for user_id, display in piece],
        )
        _renew_accounts(connection, [user_id for user_id, _ in piece])

    check(connection)
    return _until_late(members, write)


def _remove(connection: DatabaseConnection, users: Sequence[str], *, group_id: str, check: Check) -> int:
    check(connection)
    return _remove_users(connection, group_id, users)


def _remove_some(connection: DatabaseConnection, *, group_id: str) -> bool:
    """Remove a batch of members, and return whether there were any."""
    sql = "SELECT user_id FROM scim_member WHERE group_id = ? LIMIT ?"
    users = [row["user_id"] for row in connection.fetch_all(sql, (group_id, BATCH))]
    return bool(_remove_users(connection, group_id, users))


def _remove_users(connection: DatabaseConnection, group_id: str, users: Sequence[str]) -> int:
    def remove(piece: Sequence[str]) -> None:
        connection.execute_many(
            "DELETE FROM scim_member WHERE group_id = ? AND user_id = ?", [(group_id, user_id) for user_id in piece]
        )
        _renew_accounts(connection, piece)

    return _until_late(users, remove)


def _renew_some(connection: DatabaseConnection, *, group_id: str) -> bool:
    """Renew a batch of accounts, and return whether some may be left."""
    row = connection.fetch_one("SELECT renewed_to FROM scim_group WHERE id = ?", (group_id,))
    if row is None or row["renewed_to"] is None:
        return False
    sql = "SELECT user_id FROM scim_member WHERE group_id = ? AND user_id > ? ORDER BY user_id LIMIT ?"
    users = [found["user_id"] for found in connection.fetch_all(sql, (group_id, row["renewed_to"], BATCH))]
    num_renewed = _until_late(users, partial(_renew_accounts, connection))
    renewed_to = users[num_renewed - 1] if users else None
    connection.execute("UPDATE scim_group SET renewed_to = ? WHERE id = ?", (renewed_to, group_id))
    return bool(users)


def _until_late(values: Sequence[T], change: Callable[[Sequence[T]], None]) -> int:
    """Change values piece by piece until BATCH_SECONDS have passed, and return how many were changed."""
    end, num_changed = time.monotonic() + BATCH_SECONDS, 0
    while piece := values[num_changed : num_changed + PIECE]:
        change(piece)
        num_changed += len(piece)
        if time.monotonic() >= end:
            break
    return num_changed


def _renew_accounts(connection: DatabaseConnection, person_ids: Sequence[str]) -> None:
    """Give accounts the names of their groups."""
    rows = connection.fetch_all(
        "SELECT person.id, person.groups, scim_group.name FROM person "
        "LEFT JOIN scim_member ON user_id = person.id LEFT JOIN scim_group ON scim_group.id = group_id "
        f"WHERE person.id IN ({_marks(person_ids)}) ORDER BY person.id, scim_group.name",
        tuple(person_ids),
    )
    changed = list[tuple[str, str]]()
    for (person_id, before), found in groupby(rows, lambda row: (row["id"], row["groups"])):
        groups = json.dumps([row["name"] for row in found if row["name"] is not None], ensure_ascii=False)
        if groups != before:
            changed.append((groups, person_id))
    connection.execute_many("UPDATE person SET groups = ? WHERE id = ?", changed)


def _marks(values: Collection[object]) -> str:
    return ", ".join("?" * len(values))


def _no_user(user_id: str) -> InvalidRequestError:
    return InvalidRequestError(f"There is no user {user_id}", param="members")
