"""Provisioned people and groups in the database: accounts, memberships, versions, and what deletions leave."""

import time
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from app.storage.provisioning import GroupFields, UserFields, VersionError
from app.storage.store import Store
from app.tenants.person import Identity, PersonSession
from engine.api.errors import ConflictError, InvalidRequestError, NotFoundError

ADA = UserFields(Identity("https://login.example", "1", "Ada", "ada@example.org"), "ada", "1", True, "{}")
BOB = UserFields(Identity("https://login.example", "2", "Bob"), "bob", "2", True, "{}")


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[Store]:
    store = await Store.open(tmp_path / "conversations.db")
    yield store
    await store.close()


async def groups_of(store: Store, user_id: str) -> tuple[str, ...]:
    [person] = [each for each in await store.people.all() if each.id == user_id]
    return person.identity.groups


async def test_membership_and_name_of_group_reach_the_account(store: Store) -> None:
    ada, bob = await store.provisioning.create_user(ADA), await store.provisioning.create_user(BOB)
    staff = GroupFields("staff", "staff", None, "{}", {ada: "Ada", bob: None})
    staff_id = await store.provisioning.create_group(staff)
    await store.provisioning.create_group(GroupFields("ops", "ops", None, "{}", {ada: None}))
    assert (await groups_of(store, ada), await groups_of(store, bob)) == (("ops", "staff"), ("staff",))
    await store.provisioning.update_group(staff_id, replace(staff, name="crew", name_key="crew", members={ada: "A"}), 1)
    assert (await groups_of(store, ada), await groups_of(store, bob)) == (("crew", "ops"), ())
    [found] = await store.provisioning.groups("name_key", "crew")
    assert (found.version, [(link.id, link.name) for link in found.links]) == (2, [(ada, "A")])
    await store.provisioning.delete_group(staff_id, None)
    assert await groups_of(store, ada) == ("ops",)
    assert [link.name for link in (await store.provisioning.users("id", ada))[0].links] == ["ops"]


async def test_login_keeps_the_groups_of_a_provisioned_account(store: Store) -> None:
    ada = await store.provisioning.create_user(ADA)
    met = await store.people.meet(replace(ADA.identity, name="Ada L.", groups=("ops",)))
    assert (met.id, met.identity.name, met.identity.groups, met.provisioned) == (ada, "Ada L.", (), True)
    await store.provisioning.delete_user(ada, None)
    met = await store.people.meet(replace(ADA.identity, groups=("ops",)))
    assert (met.identity.groups, met.provisioned, met.disabled_at is None) == (("ops",), False, False)


async def test_provisioned_account_is_seen_at_its_first_login(store: Store) -> None:
    ada, now = await store.provisioning.create_user(ADA), time.time()
    [before] = await store.people.all()
    await store.people.log_in(bytes(32), PersonSession("1", ada, "Firefox", now, now + 60))
    [after] = await store.people.all()
    assert (before.last_seen_at, after.last_seen_at) == (None, now)


async def test_account_of_an_earlier_login_is_taken_over(store: Store) -> None:
    met = await store.people.meet(replace(ADA.identity, groups=("ops",)))
    assert await store.provisioning.create_user(ADA) == met.id
    assert await groups_of(store, met.id) == ()
    with pytest.raises(ConflictError):
        await store.provisioning.create_user(replace(ADA, user_key="other"))


async def test_taken_names_and_stale_versions_are_refused(store: Store) -> None:
    ada, bob = await store.provisioning.create_user(ADA), await store.provisioning.create_user(BOB)
    for taken in (replace(BOB, user_key="ada"), replace(BOB, identity=ADA.identity)):
        with pytest.raises(ConflictError):
            await store.provisioning.update_user(bob, taken, None)
    await store.provisioning.update_user(ada, ADA, 1)
    with pytest.raises(VersionError):
        await store.provisioning.update_user(ada, ADA, 1)
    with pytest.raises(NotFoundError):
        await store.provisioning.delete_user("missing", None)
    with pytest.raises(InvalidRequestError):
        await store.provisioning.create_group(GroupFields("staff", "staff", None, "{}", {"missing": None}))
    assert await store.provisioning.groups() == []
    assert await store.provisioning.count("scim_user") == 2


async def test_forgotten_tenant_leaves_no_provisioned_user(store: Store) -> None:
    ada = await store.provisioning.create_user(ADA)
    await store.provisioning.create_group(GroupFields("staff", "staff", None, "{}", {ada: None}))
    await store.people.forget(f"person-{ada}")
    assert await store.provisioning.users() == []
    [group] = await store.provisioning.groups()
    assert group.links == ()
