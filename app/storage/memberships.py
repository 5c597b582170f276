"""Members of provisioned groups, and the groups of their accounts, in batches, since a group may have all people.

A group whose name has changed remembers how far the accounts of its members follow (`renewed_to`, an id of a user), so
that a restarted server continues there.
"""

import json
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import partial
from itertools import groupby
from typing import Final, TypeVar

from app.storage.connection import Connection
from app.storage.database import Database
from app.storage.errors import MissingReferenceError
from engine.errors import InvalidRequestError

T = TypeVar("T")

BATCH: Final = 100
"""Members in one transaction."""

Check = Callable[[Connection], None]


class Memberships:
    """The memberships of all groups. A method that writes is a series of transactions, none of which is durable."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def check_users(self, user_ids: Collection[str]) -> None:
        """Check that all users exist. Raises InvalidRequestError."""
        for ids in _batches(list(user_ids)):
            rows = await self._database.read(f"SELECT id FROM scim_user WHERE id IN ({_marks(ids)})", ids)
            if missing := set(ids) - {row["id"] for row in rows}:
                raise _no_user(min(missing))

    async def replace(self, group_id: str, members: Mapping[str, str | None], check: Check) -> None:
        """Give a group its members.

        members: what the provider says about each user, by id.
        check: called in each transaction; raises if the group has changed since.

        Raises InvalidRequestError for an unknown user, and what `check` raises.
        """
        sql = "SELECT user_id, display FROM scim_member WHERE group_id = ?"
        before = {row["user_id"]: row["display"] for row in await self._database.read(sql, (group_id,))}
        removed = [user_id for user_id in before if user_id not in members]
        for users in _batches(removed):
            await self._database.write_batch(partial(_remove, group_id=group_id, users=users, check=check))
        written = [each for each in members.items() if each[0] not in before or before[each[0]] != each[1]]
        for given in _batches(written):
            try:
                await self._database.write_batch(partial(_write, group_id=group_id, members=given, check=check))
            except MissingReferenceError:
                raise _no_user(", ".join(user_id for user_id, _ in given)) from None

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


def _write(connection: Connection, *, group_id: str, members: Collection[tuple[str, str | None]], check: Check) -> None:
    check(connection)
    connection.execute_many(
        "INSERT INTO scim_member VALUES (?, ?, ?) ON CONFLICT(group_id, user_id) DO UPDATE "
        "SET display = excluded.display",
        [(group_id, user_id, display) for user_id, display in members],
    )
    _renew_accounts(connection, [user_id for user_id, _ in members])


def _remove(connection: Connection, *, group_id: str, users: Sequence[str], check: Check) -> None:
    check(connection)
    _remove_users(connection, group_id, users)


def _remove_some(connection: Connection, *, group_id: str) -> bool:
    """Remove a batch of members, and return whether there were any."""
    sql = "SELECT user_id FROM scim_member WHERE group_id = ? LIMIT ?"
    users = [row["user_id"] for row in connection.fetch_all(sql, (group_id, BATCH))]
    _remove_users(connection, group_id, users)
    return bool(users)


def _remove_users(connection: Connection, group_id: str, users: Collection[str]) -> None:
    connection.execute_many(
        "DELETE FROM scim_member WHERE group_id = ? AND user_id = ?", [(group_id, user_id) for user_id in users]
    )
    _renew_accounts(connection, users)


def _renew_some(connection: Connection, *, group_id: str) -> bool:
    """Renew a batch of accounts, and return whether some may be left."""
    row = connection.fetch_one("SELECT renewed_to FROM scim_group WHERE id = ?", (group_id,))
    if row is None or row["renewed_to"] is None:
        return False
    sql = "SELECT user_id FROM scim_member WHERE group_id = ? AND user_id > ? ORDER BY user_id LIMIT ?"
    users = [found["user_id"] for found in connection.fetch_all(sql, (group_id, row["renewed_to"], BATCH))]
    _renew_accounts(connection, users)
    renewed_to = users[-1] if users else None
    connection.execute("UPDATE scim_group SET renewed_to = ? WHERE id = ?", (renewed_to, group_id))
    return bool(users)


def _renew_accounts(connection: Connection, person_ids: Collection[str]) -> None:
    """Give accounts the names of their groups."""
    if not person_ids:
        return
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


def _batches(values: Sequence[T]) -> Iterator[Sequence[T]]:
    return (values[start : start + BATCH] for start in range(0, len(values), BATCH))


def _marks(values: Collection[object]) -> str:
    return ", ".join("?" * len(values))


def _no_user(user_id: str) -> InvalidRequestError:
    return InvalidRequestError(f"There is no user {user_id}", param="members")
