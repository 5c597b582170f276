"""People and their logins: one account per identity, bounded logins, and nothing left of ended ones."""

import time
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from app.storage.people import MAX_SESSIONS
from app.storage.store import Store
from app.tenants.person import Identity, PersonSession
from engine.api.errors import NotFoundError

ADA = Identity("https://login.example", "ada", "Ada", "ada@example.org", ("staff", "crew"))


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[Store]:
    store = await Store.open(tmp_path / "conversations.db")
    yield store
    await store.close()


async def log_in(store: Store, person_id: str, number: int, seconds: float = 60.0) -> bytes:
    digest, now = number.to_bytes(32, "big"), time.time()
    session = PersonSession(str(number), person_id, "Firefox", now, now + seconds + number)
    await store.people.log_in(digest, session)
    return digest


async def test_identity_keeps_its_tenant_and_renews_its_groups(store: Store) -> None:
    first = await store.people.meet(ADA)
    again = await store.people.meet(replace(ADA, name="Ada L.", groups=("ops",)))
    assert (again.id, again.tenant, again.created_at) == (first.id, first.tenant, first.created_at)
    assert (again.identity.groups, again.shown_name) == (("ops",), "Ada L.")
    same_name_elsewhere = await store.people.meet(replace(ADA, issuer="https://other.example"))
    assert same_name_elsewhere.tenant != first.tenant
    assert await store.people.all() == [again, same_name_elsewhere]


async def test_oldest_and_expired_logins_end(store: Store) -> None:
    ada, bob = await store.people.meet(ADA), await store.people.meet(replace(ADA, subject="bob"))
    expired = await log_in(store, ada.id, 900, seconds=-10_000)
    kept = await log_in(store, bob.id, 901)
    digests = [await log_in(store, ada.id, number) for number in range(MAX_SESSIONS + 1)]
    sessions = {row["digest"] for row in await store.database.read("SELECT digest FROM person_session")}
    assert sessions == {kept, *digests[1:]}
    assert expired not in sessions
    with pytest.raises(NotFoundError):
        await store.people.end_session(bob.id, "5")
    await store.people.end_session(ada.id, "5")
    assert digests[5] not in (await store.access.read()).sessions


async def test_disabled_person_loses_logins_and_survives_deletion(store: Store) -> None:
    ada, bob = await store.people.meet(ADA), await store.people.meet(replace(ADA, subject="bob"))
    for number, person in enumerate((ada, bob)):
        await log_in(store, person.id, number)
    assert (await store.people.set_disabled(ada.id, True)).disabled_at is not None
    assert await store.people.sessions_of(ada.id) == []
    assert [session.person_id for session in await store.people.sessions_of(bob.id)] == [bob.id]
    for person in (ada, bob):
        await store.people.forget(person.tenant)
    assert [person.id for person in await store.people.all()] == [ada.id]
    assert (await store.access.read()).sessions == {}
    assert (await store.people.set_disabled(ada.id, False)).disabled_at is None
    with pytest.raises(NotFoundError):
        await store.people.set_disabled(bob.id, True)
