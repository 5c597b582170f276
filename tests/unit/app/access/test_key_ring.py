"""The server's cached keys: which of them are accepted, how soon changes take effect, and the cost of reading them."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from sqlite3 import OperationalError

import pytest

from app.access.auth_policy import AuthPolicy
from app.access.key_ring import FRESH_SECONDS, KeyRing
from app.storage.sqlite.database import SqliteDatabase
from app.storage.store import Store
from app.tenants.limits import NO_LIMITS, TenantLimits
from app.tenants.principal import ANYBODY, Principal


class Clock:
    """A clock in seconds that the test sets."""

    now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[Store]:
    store = await Store.open(tmp_path / "conversations.db")
    yield store
    await store.close()


@pytest.fixture
async def elsewhere(store: Store, tmp_path: Path) -> AsyncIterator[Store]:
    """Open the same database a second time, as another process would."""
    other = await Store.open(tmp_path / "conversations.db")
    yield other
    await other.close()


async def ring_of(store: Store, clock: Clock, auth_policy: AuthPolicy = "once made") -> KeyRing:
    ring = KeyRing(store.access, store.keys, store.people, auth_policy, clock)
    await ring.read()
    return ring


async def test_change_by_another_process_holds_within_a_second(store: Store, elsewhere: Store) -> None:
    clock = Clock()
    ring = await ring_of(store, clock)
    assert ring.anybody() == ANYBODY
    key, secret = await elsewhere.keys.create("laptop", "alice", "user")
    await elsewhere.limits.set("alice", TenantLimits(concurrent_runs=3))
    clock.now += FRESH_SECONDS
    await ring.refresh()
    assert (ring.by_key(secret), ring.anybody()) == (Principal("alice", "user", key.id), None)
    assert (ring.limits_of("alice").concurrent_runs, ring.limits_of("bob")) == (3, NO_LIMITS)
    login = await ring.log_in(Principal("alice", "user", key.id))
    assert ring.by_login(login) == Principal("alice", "user", key.id)
    await elsewhere.keys.revoke(key.id)
    clock.now += FRESH_SECONDS
    await ring.refresh()
    assert ring.by_key(secret) is ring.by_login(login) is ring.anybody() is None, (
        "revoking the last key must not open the server"
    )


@pytest.mark.parametrize(("auth_policy", "required"), [("once made", False), ("always", True), ("never", False)])
async def test_demand_decides_if_key_is_required_before_first_key(
    store: Store, auth_policy: AuthPolicy, required: bool
) -> None:
    assert (await ring_of(store, Clock(), auth_policy)).requires_keys is required


async def test_demand_never_ignores_existing_keys(store: Store) -> None:
    await store.keys.create("laptop", "alice", "user")
    assert (await ring_of(store, Clock(), "never")).anybody() == ANYBODY


async def test_only_exact_key_is_accepted(store: Store) -> None:
    _, secret = await store.keys.create("laptop", "alice", "user")
    _, other = await store.keys.create("desk", "bob", "user")
    ring = await ring_of(store, Clock())
    swapped = secret[:20] + other[20:]
    for wrong in ("", "x", secret[:-1], secret + "A", secret.upper(), f" {secret}", swapped, "sk-ebb-é" + secret[8:]):
        assert ring.by_key(wrong) is None
        assert ring.by_login(wrong) is None
    assert secret.encode() not in b"".join(row["digest"] for row in await store.database.read("SELECT * FROM api_key"))


async def test_flood_of_wrong_keys_reads_rarely_and_writes_nothing(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, secret = await store.keys.create("laptop", "alice", "user")
    clock = Clock()
    ring = await ring_of(store, clock)
    reads = writes = 0
    read, write = SqliteDatabase.read_keys, SqliteDatabase.write

    async def counted_read(*given: object) -> object:
        nonlocal reads
        reads += 1
        return await read(*given)  # type: ignore[arg-type]

    async def counted_write(*given: object) -> object:
        nonlocal writes
        writes += 1
        return await write(*given)  # type: ignore[arg-type]

    monkeypatch.setattr(SqliteDatabase, "read_keys", counted_read)
    monkeypatch.setattr(SqliteDatabase, "write", counted_write)
    for _ in range(1000):
        await ring.refresh()
        assert ring.by_key(secret[:-1] + "~") is None
    assert (reads, writes) == (0, 0)
    for _ in range(1000):
        clock.now += 0.0025
        await ring.refresh()
        ring.by_key("sk-wrong")
        ring.by_login("wrong")
    assert (reads, writes) == (2, 0)


async def test_unknown_keys_and_logins_wait_for_one_reading(
    store: Store, elsewhere: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Make a key at another server while a reading is in progress, which may not have it."""
    ring = await ring_of(store, Clock(), "always")
    begun, released = asyncio.Event(), asyncio.Event()
    read, reads = SqliteDatabase.read_keys, 0

    async def slow(*given: object) -> object:
        nonlocal reads
        reads += 1
        found: object = await read(*given)  # type: ignore[arg-type]
        begun.set()
        await released.wait()
        return found

    monkeypatch.setattr(SqliteDatabase, "read_keys", slow)
    monkeypatch.setattr("app.access.key_ring.AGAIN_SECONDS", 0.0)
    before = [asyncio.create_task(ring.look_again()) for _ in range(100)]
    await begun.wait()
    _, secret = await elsewhere.keys.create("laptop", "alice", "user")
    assert ring.is_unknown_key(secret)
    after = [asyncio.create_task(ring.look_again()) for _ in range(100)]
    released.set()
    await asyncio.gather(*before, *after)
    assert ring.by_key(secret) is not None
    assert reads == 2
    assert not ring.is_unknown_key(secret)
    assert not ring.is_unknown_key("sk-wrong")
    await ring.stop()


async def test_last_use_of_key_is_written_at_most_hourly(store: Store) -> None:
    key, secret = await store.keys.create("laptop", "alice", "user")
    ring = await ring_of(store, Clock())
    ring.by_key(secret)
    await ring.read()
    await ring.stop()
    (stored,) = await store.keys.all()
    assert stored.last_used_at is not None
    assert stored.last_used_at > key.created_at
    await ring.read()
    ring.by_key(secret)
    await ring.read()
    await ring.stop()
    assert (await store.keys.all())[0].last_used_at == stored.last_used_at


async def test_failed_read_keeps_old_keys_and_is_retried(
    store: Store, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    key, secret = await store.keys.create("laptop", "alice", "user")
    clock = Clock()
    ring = await ring_of(store, clock)

    async def broken(*_: object) -> object:
        raise OperationalError("disk I/O error")

    with monkeypatch.context() as breaking:
        breaking.setattr(SqliteDatabase, "read_keys", broken)
        clock.now += FRESH_SECONDS
        await ring.refresh()
        assert ring.by_key(secret) is not None
        with pytest.raises(OperationalError):
            await ring.read()
    assert "the keys could not be read" in caplog.text
    await store.keys.revoke(key.id)
    clock.now += FRESH_SECONDS
    await ring.refresh()
    assert ring.by_key(secret) is None


async def test_slow_database_delays_no_request_for_long(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    _, secret = await store.keys.create("laptop", "alice", "user")
    clock = Clock()
    ring = await ring_of(store, clock)
    answers = asyncio.Event()
    read = SqliteDatabase.read_keys

    async def slow(*given: object) -> object:
        await answers.wait()
        return await read(*given)  # type: ignore[arg-type]

    monkeypatch.setattr(SqliteDatabase, "read_keys", slow)
    monkeypatch.setattr("app.access.key_ring.WAIT_SECONDS", 0.01)
    clock.now += FRESH_SECONDS
    await ring.refresh(wait=False)
    await ring.refresh()
    assert ring.by_key(secret) is not None, "the keys read last must stay valid"
    answers.set()
    await ring.stop()
