"""`ebb keys`: manage keys in the database itself, whether or not a server is running.

Only the owner of the state directory's lock may change the schema, create the file or complete a restore. While a
server runs, `ebb keys` uses the file only if its schema is that of this version.
"""

import asyncio
import os
import sys
import time
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import TypeVar

from app.config.reservable import reservable_bytes
from app.config.settings import Settings, lock_state_dir
from app.config.sizes import format_size
from app.storage.errors import UnusableDatabaseError
from app.storage.sqlite.migrating import migrations, schema_of
from app.storage.sqlite.restoration import complete_restore, is_restore_pending
from app.storage.store import Store
from app.tenants.api_key import ApiKey
from app.tenants.limits import LIMIT_NAMES, NO_LIMITS, TenantLimits
from app.tenants.name import LOCAL
from app.tenants.principal import Scope
from engine.api.errors import EbbError

T = TypeVar("T")


def create(settings: Settings, name: str, tenant: str | None = None, admin: bool = False) -> int:
    """Print a new key on standard output, and its scope on standard error.

    The first key also says where the chats from before it are.
    """
    scope: Scope = "admin" if admin else "user"

    async def make(store: Store) -> tuple[ApiKey, str, int]:
        is_first = not await store.keys.all()
        key, secret = await store.keys.create(name, tenant or name, scope)
        return key, secret, await store.former_chats.count() if is_first and key.tenant != LOCAL else 0

    key, secret, num_former = with_store(settings, make)
    print(secret)
    print(f"{_words(key)}. The key is shown only once. To revoke it: ebb keys revoke {key.id}", file=sys.stderr)
    if num_former:
        print(_former_words(num_former, key), file=sys.stderr)
    return 0


def list_keys(settings: Settings) -> int:
    """Print one line for each key, then one for each tenant with limits."""

    async def read(store: Store) -> tuple[list[ApiKey], dict[str, TenantLimits]]:
        return await store.keys.all(), await store.limits.all()

    keys, limits = with_store(settings, read)
    if not keys:
        print("There are no keys. To create one: ebb keys create NAME", file=sys.stderr)
    for key in keys:
        print(f"{key.id}  {key.scope:<5}  {key.name:<20}  tenant {key.tenant:<20}  {_state(key)}")
    for tenant, its in sorted(limits.items()):
        print(f"tenant {tenant}: {_limit_words(its)}")
    return 0


def revoke(settings: Settings, key_id: str) -> int:
    """Revoke a key. Raise NotFoundError."""
    with_store(settings, lambda store: store.keys.revoke(key_id))
    print(f"Key {key_id} is revoked", file=sys.stderr)
    return 0


def limits(settings: Settings, tenant: str, **given: int | None) -> int:
    """Change the given limits of a tenant and print all of them. Raise InvalidRequestError."""

    bound = reservable_bytes(settings) if given.get("kv_reserved") else None

    async def change(store: Store) -> TenantLimits:
        known = await store.limits.all()
        changed = replace(known.get(tenant, NO_LIMITS), **given)
        if given:
            await store.limits.set(tenant, changed, reservable=bound)
        return changed

    print(f"tenant {tenant}: {_limit_words(with_store(settings, change))}")
    return 0


def with_store(settings: Settings, work: Callable[[Store], Awaitable[T]]) -> T:
    """Return what `work` returns with the opened store. Raise EbbError if the database cannot be used."""

    async def run() -> T:
        url = settings.database_url
        store = await (Store.open_postgres(url, serves=False) if url else Store.open(settings.database))
        try:
            return await work(store)
        finally:
            await store.close()

    settings.make_directories()
    lock = _lock_to_prepare(settings) if not settings.database_url else None
    try:
        return asyncio.run(run())
    except UnusableDatabaseError as error:
        raise EbbError(str(error)) from error
    finally:
        if lock is not None:
            os.close(lock)


def _lock_to_prepare(settings: Settings) -> int | None:
    """Lock the state directory if the database cannot be opened as it is. Returns None if it can.

    Raise EbbError if a server, or a restore, holds the lock.
    """
    pending = is_restore_pending(settings.database)
    if not pending and schema_of(settings.database) == len(migrations()):
        return None
    lock = lock_state_dir(settings.state_dir)
    if lock is None:
        raise EbbError(
            f"A server of another version, or one that is still starting, is using {settings.state_dir}. Use the "
            "ebb of that version, try again when the server is ready, or stop it first"
        )
    complete_restore(settings.database)
    return lock


def _words(key: ApiKey) -> str:
    also = ", and /metrics and /api/admin" if key.scope == "admin" else ""
    return f"Key {key.id} ({key.name}) gives access to the chats, runs and KV of the tenant {key.tenant}{also}"


def _former_words(num_chats: int, key: ApiKey) -> str:
    """Describe where the chats from before the first key are, and the two ways to them."""
    with_admin = "this key" if key.scope == "admin" else "a key made with --admin"
    return (
        f"Chats from before this first key ({num_chats}) belong to the tenant {LOCAL}. To open them: ebb keys create "
        f"NAME --tenant {LOCAL}. To take them over: log in to the page with {with_admin}"
    )


def _state(key: ApiKey) -> str:
    if key.revoked_at is not None:
        return f"revoked {day(key.revoked_at)}"
    used = f", used {day(key.last_used_at)}" if key.last_used_at is not None else ", not used yet"
    return f"created {day(key.created_at)}{used}"


def day(seconds: float) -> str:
    """Format a time in Unix seconds as a date."""
    return time.strftime("%Y-%m-%d", time.localtime(seconds))


def _limit_words(its: TenantLimits) -> str:
    known = [(name.replace("_", " "), getattr(its, name)) for name in LIMIT_NAMES if name != "kv_reserved"]
    reserved = f"{format_size(its.kv_reserved)} reserved for promises of KV" if its.kv_reserved is not None else ""
    words = [f"{most} {name}" for name, most in known if most is not None]
    return ", ".join([*words, *([reserved] if reserved else [])]) or "no limits"
