"""Many keys, people, logins and provisioned accounts in a database."""

import json
import time
from collections.abc import Sequence
from functools import partial
from hashlib import sha256
from typing import Any, Final, NamedTuple

from app.storage.connection import DatabaseConnection
from app.storage.store import Store
from app.tenants.principal import Scope

BATCH: Final = 1000
"""Rows of a transaction. PostgreSQL answers in time then, on a busy machine too."""


async def add_accounts(store: Store, count: int) -> None:
    """Add `count` keys, people and tenants with limits, and three logins of each person."""
    now = time.time()
    scope: Scope = "user"
    numbers = range(count)
    await _insert(
        store,
        "INSERT INTO api_key(id, name, tenant, scope, digest, created_at) VALUES (?, ?, ?, ?, ?, ?)",
        [(f"{n:012x}", f"key {n}", f"team-{n:06}", scope, _digest("key", n), now - n) for n in numbers],
    )
    await _insert(
        store,
        "INSERT INTO person(id, tenant, issuer, subject, name, email, groups, created_at, last_seen_at) "
        "VALUES (?, ?, 'https://login.example', ?, ?, ?, ?, ?, ?)",
        [
            (
                f"{n:016x}",
                f"person-{n:016x}",
                f"subject-{n}",
                f"Person {n}",
                f"person{n}@example.org",
                json.dumps(["staff"]),
                now - n,
                now,
            )
            for n in numbers
        ],
    )
    await _insert(
        store,
        "INSERT INTO person_session(digest, id, person_id, client, created_at, expires_at) "
        "VALUES (?, ?, ?, 'Firefox', ?, ?)",
        [(_digest("session", n), f"s{n:016x}", f"{n // 3:016x}", now, now + 86_400) for n in range(3 * count)],
    )
    await _insert(
        store,
        "INSERT INTO tenant_limits(tenant, requests_per_minute) VALUES (?, 1000)",
        [(f"team-{n:06}",) for n in numbers],
    )


class ManyGroups(NamedTuple):
    """Ids of groups: one of all people, and one of every fourth."""

    everyone: str
    some: str


async def provision_accounts(store: Store, count: int) -> ManyGroups:
    """Have a provider own `count` people of `add_accounts`. Every tenth of them is in a group alone, too."""
    now = time.time()
    made = ManyGroups("everyone", "some")
    alone = [f"{n:016x}" for n in range(0, count, 10)]
    await _insert(
        store,
        "INSERT INTO scim_user VALUES (?, ?, ?, TRUE, ?, 1, ?, ?)",
        [
            (f"{n:016x}", f"person-{n}", f"external-{n}", json.dumps({"userName": f"Person-{n}"}), now, now)
            for n in range(count)
        ],
    )
    await store.database.write(lambda connection: connection.execute("UPDATE person SET provisioned = TRUE"))
    await _insert(
        store,
        "INSERT INTO scim_group(id, name, name_key, external_id, body, version, created_at, changed_at) "
        "VALUES (?, ?, ?, NULL, ?, 1, ?, ?)",
        [(each, f"group {each}", f"group {each}", _group(each), now, now) for each in (*made, *alone)],
    )
    await _insert(
        store,
        "INSERT INTO scim_member VALUES (?, ?, NULL)",
        [
            *((made.everyone, f"{n:016x}") for n in range(count)),
            *((made.some, f"{n:016x}") for n in range(0, count, 4)),
            *((each, each) for each in alone),
        ],
    )
    return made


async def _insert(store: Store, sql: str, rows: Sequence[tuple[Any, ...]]) -> None:
    def write(connection: DatabaseConnection, some: Sequence[tuple[Any, ...]]) -> None:
        connection.execute_many(sql, some)

    for start in range(0, len(rows), BATCH):
        await store.database.write(partial(write, some=rows[start : start + BATCH]))


def _group(name: str) -> str:
    return json.dumps({"displayName": f"group {name}"})


def _digest(kind: str, number: int) -> bytes:
    return sha256(f"{kind} {number}".encode()).digest()
