"""The keys, logins, people and limits that servers hold in memory: what changes, and only that, is read again."""

import time
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any, TypeVar

import pytest

from app.access.key_ring import KeyRing
from app.storage import access
from app.storage.access import AccessReading
from app.storage.connection import DatabaseConnection
from app.storage.keys import Login
from app.storage.store import Store
from app.tenants.limits import TenantLimits
from app.tenants.person import Identity, PersonSession
from tests.many_accounts import add_accounts

ADA = Identity("https://login.example", "ada", "Ada", "ada@example.org", ("staff",))
Step = Callable[[], Awaitable[object]]
T = TypeVar("T")


async def ring_of(store: Store) -> KeyRing:
    ring = KeyRing(store.access, store.keys, store.people, "once made")
    await ring.read()
    return ring


def contents(ring: KeyRing) -> tuple[object, ...]:
    people = ring.people
    return (
        ring._has_keys,
        ring._keys,
        ring._logins,
        ring._limits,
        people.by_id,
        people._by_identity,
        people._by_tenant,
        people._sessions,
    )


def rows_of(reading: AccessReading) -> int:
    return len(reading.keys) + len(reading.logins) + len(reading.people) + len(reading.sessions) + len(reading.limits)


async def test_changes_of_every_kind_lead_to_what_a_new_server_reads(store: Store) -> None:
    await add_accounts(store, 5)
    ring = await ring_of(store)
    key, _ = await store.keys.create("laptop", "alice", "user")
    ada = await store.people.meet(ADA)
    now = time.time()
    session = PersonSession("1", ada.id, "Firefox", now, now + 60)
    user = "0" * 16
    steps: tuple[Step, ...] = (
        lambda: store.keys.log_in(b"\x01" * 32, Login(key.id, now + 60)),
        lambda: store.keys.mark_used([key.id], now),
        lambda: store.limits.set("alice", TenantLimits(concurrent_runs=3)),
        lambda: store.people.log_in(b"\x02" * 32, session),
        lambda: store.people.log_in(b"\x03" * 32, replace(session, id="2")),
        lambda: store.people.end_session(ada.id, "1"),
        lambda: store.people.mark_seen([ada.id], now + 5),
        lambda: store.people.meet(replace(ADA, groups=("ops",))),
        lambda: store.people.set_disabled(ada.id, True),
        lambda: store.people.set_disabled(ada.id, False),
        lambda: store.database.write(
            lambda connection: connection.execute("UPDATE person SET subject = 'zoe' WHERE id = ?", (user,))
        ),
        lambda: store.people.forget(ada.tenant),
        lambda: store.keys.log_out(b"\x01" * 32),
        lambda: store.keys.revoke(key.id),
        lambda: store.keys.revoke_all_of("team-000001"),
    )
    for step in steps:
        await step()
        await ring.read()
        assert contents(ring) == contents(await ring_of(store))


async def test_reading_contains_only_the_rows_that_have_changed(store: Store) -> None:
    await add_accounts(store, 50)
    before = await store.access.read()
    assert (before.is_whole, rows_of(before)) == (True, 300)
    assert rows_of(await store.access.read(before.place)) == 0
    await store.keys.revoke(f"{7:012x}")
    await store.limits.set("team-000003", TenantLimits())
    reading = await store.access.read(before.place)
    assert (reading.is_whole, rows_of(reading)) == (False, 2)


async def test_second_without_changes_costs_one_query(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    await add_accounts(store, 50)
    ring = await ring_of(store)
    queries = list[str]()

    class Watched:
        """A connection whose queries are noted."""

        def __init__(self, connection: DatabaseConnection) -> None:
            self.connection = connection

        def __getattr__(self, name: str) -> Any:
            def noted(sql: str, *given: Any) -> Any:
                queries.append(sql)
                return getattr(self.connection, name)(sql, *given)

            return noted

    read_keys = store.database.read_keys

    async def watched(work: Callable[[Any], T]) -> T:
        return await read_keys(lambda connection: work(Watched(connection)))

    monkeypatch.setattr(store.database, "read_keys", watched)
    for _ in range(3):
        await ring.read()
    assert (len(queries), all("FROM access_change" in query for query in queries)) == (3, True)
    queries.clear()
    await store.keys.revoke(f"{7:012x}")
    await ring.read()
    assert [query.split(" FROM ")[1].split()[0] for query in queries] == ["access_change", "api_key"]


async def test_names_of_a_reading_are_read_in_batches(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(access, "BATCH", 7)
    before = await store.access.read()
    await add_accounts(store, 20)
    reading = await store.access.read(before.place)
    assert (reading.is_whole, rows_of(reading)) == (False, 120)


async def test_only_the_last_changes_are_kept(store: Store) -> None:
    before = await store.access.read()
    await add_accounts(store, access.CHANGES // 6)
    assert not (await store.access.read(before.place)).is_whole
    await store.keys.create("laptop", "alice", "user")
    await add_limits(store, 110)
    [row] = await store.database.read("SELECT count(*) AS n FROM access_change")
    assert access.CHANGES <= row["n"] < access.CHANGES + 100
    assert (await store.access.read(before.place)).is_whole


async def add_limits(store: Store, count: int) -> None:
    for number in range(count):
        await store.limits.set(f"tenant-{number}", TenantLimits())


async def test_database_that_lost_the_last_changes_is_read_again(store: Store) -> None:
    # A standby that takes over may lack what a server has read, and uses the same numbers for other changes.
    key, secret = await store.keys.create("laptop", "alice", "user")
    ring = await ring_of(store)
    assert ring.by_key(secret) is not None
    await store.database.write(
        lambda connection: (
            connection.execute("DELETE FROM api_key WHERE id = ?", (key.id,)),
            connection.execute("UPDATE access_change SET mark = 'another'"),
        )
    )
    await add_limits(store, 3)
    await ring.read()
    assert ring.by_key(secret) is None
    assert not ring.requires_keys
