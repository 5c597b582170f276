"""The removal of a tenant with its person, by a running server and on the command line."""

from app.storage.store import Store


async def shut_out(store: Store, tenant: str) -> int:
    """Revoke a tenant's keys, and forget its person unless disabled. Return the number of keys."""
    keys = await store.keys.revoke_all_of(tenant)
    await store.people.forget(tenant)
    return keys


async def remove_tenant(store: Store, tenant: str) -> tuple[int, int]:
    """Remove a tenant without its server: keys, person, chats, files and use. Return the numbers of keys and of chats.

    The tenant's KV becomes unreachable at all servers of a shared database.
    """
    keys = await shut_out(store, tenant)
    if store.database.is_shared:
        deletions = (await store.tenant_deletions.all()).get(tenant, 0)
        await store.tenant_deletions.raise_to({tenant: deletions + 1})
    conversations = await store.of(tenant).deletions.remove_all()
    await store.daily_use.forget(tenant)
    return keys, conversations
