"""Administrators' operations on keys, tenants and limits."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from app.access.daily_use import DailyUse, first_day
from app.access.key_ring import KeyRing
from app.host.backend import Backend
from app.host.engine_host import EngineHost
from app.runs.service import RunRegistry
from app.schemas.admin import DeletedTenant, Tenant, limits_body
from app.storage.store import Store
from app.storage.tenant_removal import shut_out
from app.storage.tenants import StoredTenant
from app.tenants.api_key import ApiKey
from app.tenants.gate import TenantGates
from app.tenants.limits import TenantLimits
from app.tenants.person import Person
from app.tenants.principal import Scope
from app.tenants.token_bucket import Use


@dataclass(frozen=True, slots=True, kw_only=True)
class Administration:
    """Administration of all tenants. Changes take effect immediately in this process.

    delete_kv: ends a tenant's requests, and makes its KV unreachable at all servers.
    reservable_bytes: returns the bound of the disk tier, 0 if it is off. The call may block.
    """

    host: EngineHost
    store: Store
    ring: KeyRing
    gates: TenantGates
    daily_use: DailyUse
    runs: RunRegistry
    delete_kv: Callable[[Backend, str], Awaitable[None]]
    reservable_bytes: Callable[[], int]

    async def create_key(self, name: str, tenant: str, scope: Scope) -> tuple[ApiKey, str]:
        """Create a key and return its record, with the key itself, which is stored nowhere.

        Raise ConflictError: the tenant is a person's.
        """
        made = await self.store.keys.create(name, tenant, scope)
        await self.ring.read()
        return made

    async def create_own_key(self, person: Person, name: str) -> tuple[ApiKey, str]:
        """Create a key of scope user to a person's own chats, and return what `create_key` returns."""
        made = await self.store.keys.create(name, person.tenant, "user", person_id=person.id)
        await self.ring.read()
        return made

    async def revoke_key(self, key_id: str) -> None:
        """Revoke a key. Raise NotFoundError."""
        await self.store.keys.revoke(key_id)
        await self.ring.read()

    async def set_limits(self, tenant: str, limits: TenantLimits) -> None:
        """Replace a tenant's limits. Raise InvalidRequestError if all reservations together exceed the disk tier."""
        bound = await asyncio.to_thread(self.reservable_bytes) if limits.kv_reserved else None
        await self.store.limits.set(tenant, limits, reservable=bound)
        await self.ring.read()

    async def tenants(self, num_days: int, *, after: str, query: str, limit: int) -> list[Tenant]:
        """List tenants that have keys, chats, limits or use, with their use of the last days, today included.

        Other servers' use of the last minute is missing.

        after: name before the first one. query: a text as `TenantStore.page` searches it.
        """
        await self.daily_use.save()
        since, engine = first_day(num_days), self.host.engine
        page = await self.store.tenants.page(since=since, after=after, query=query, limit=limit)
        unsaved = self.daily_use.unsaved(since)
        return [self._described(each, unsaved.get(each.name, Use()), engine) for each in page]

    def _described(self, tenant: StoredTenant, unsaved: Use, engine: Backend | None) -> Tenant:
        person, used = self.ring.people.tenant_owner(tenant.name), tenant.used + unsaved
        return {
            "tenant": tenant.name,
            "person": person.shown_name if person is not None else None,
            "keys": tenant.keys,
            "conversations": tenant.conversations,
            "stored_bytes": tenant.nbytes,
            "limits": limits_body(self.ring.limits_of(tenant.name)),
            "requests": used.requests,
            "tokens": used.tokens,
            "live": self.gates.live(tenant.name, engine) if engine is not None else 0,
        }

    async def set_disabled(self, person_id: str, disabled: bool) -> Person:
        """Disable a person, whose logins and keys stop working, or admit the person again. Raise NotFoundError."""
        person = await self.store.people.set_disabled(person_id, disabled)
        await self.ring.read()
        return person

    async def set_admin(self, person_id: str, admin: bool) -> Person:
        """Make a person with a password an administrator, or a user. Raise NotFoundError."""
        person = await self.store.passwords.set_admin(person_id, admin)
        await self.ring.read()
        return person

    async def delete_tenant(self, tenant: str) -> DeletedTenant:
        """Revoke a tenant's keys, abort its requests, make its KV unreachable and delete its chats permanently.

        The tenant's person is forgotten, unless disabled. The tenant's limits stay. Returns the number of keys and of
        conversations.

        Raises:
            NotReadyError: no engine is serving.
            EngineError: the KV could not be made unreachable. The chats are not deleted.
        """
        engine = self.host.require()
        keys = await shut_out(self.store, tenant)
        await self.ring.read()
        await self.runs.forget_all_of(tenant)
        await self.delete_kv(engine, tenant)
        conversations = await self.store.of(tenant).deletions.remove_all()
        await self.daily_use.forget(tenant)
        return {"keys": keys, "conversations": conversations}
