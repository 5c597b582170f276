"""Deletions that reach the memory of every server on a database.

A server that erases the KV of deleted messages notes their tokens for the others. Each of them owes the erasure from
its own device and tiers from then on (`app.conversations.kv_erasure`). The tokens are in the database for about a
minute. A server that was away for longer keeps the blocks until they age out, like all unused blocks.

A deleted tenant gets another salt. Salts follow from the number of deletions, which all servers keep in common.
"""

import asyncio
import logging
from collections.abc import Callable
from contextlib import suppress
from typing import Final

from app.conversations.kv_erasure import KVErasure
from app.host.backend import Backend
from app.host.engine_host import EngineHost
from app.runs.service import RunRegistry
from app.storage.connection import MISSED
from app.storage.erasures import ERASED
from app.storage.notices import NoticeHandlers
from app.storage.store import Store
from app.storage.tenant_deletions import DELETED
from engine.api.errors import OutageError

LOOK_SECONDS: Final = 15.0

logger = logging.getLogger(__name__)


class SharedDeletions:
    """Owner of the task that follows the deletions at other servers."""

    def __init__(
        self, host: EngineHost, store: Store, runs: RunRegistry, erasure: KVErasure, leads: Callable[[], bool]
    ) -> None:
        """Prepare to follow.

        leads: whether this server drops the notes that all servers have seen.
        """
        self._host = host
        self._store = store
        self._runs = runs
        self._erasure = erasure
        self._leads = leads
        self._seen = 0
        self._news = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    def begin(self) -> None:
        """Start to follow, once there is an engine."""
        if self._store.database.is_shared:
            self._task = asyncio.create_task(self._follow(), name="follow-deletions")

    async def stop(self) -> None:
        """Stop following."""
        if self._task is not None:
            self._task.cancel()
            with suppress(asyncio.CancelledError):
                await self._task

    @property
    def notice_handlers(self) -> NoticeHandlers:
        """Handlers of the notices of other servers."""
        return dict.fromkeys((ERASED, DELETED, MISSED), lambda _text: self._news.set())

    async def delete_tenant(self, engine: Backend, tenant: str) -> None:
        """End a tenant's requests and make its KV unreachable at all servers. Raise EngineError, OutageError."""
        if not self._store.database.is_shared:
            await engine.delete_tenant(tenant)
            return
        # Another server may have deleted the tenant before, and the new salt must be new to it, too.
        await self._adopt_deletions(engine)
        await engine.delete_tenant(tenant)
        await self._store.tenant_deletions.raise_to({tenant: engine.deletions_of(tenant)})

    async def catch_up(self, engine: Backend) -> None:
        """Follow all deletions since the last call."""
        await self._adopt_deletions(engine)
        while erasures := await self._store.erasures.after(self._seen):
            for erasure in erasures:
                self._runs.forget_prefixes(erasure.tenant)
                await self._erasure.take(erasure.trails, erasure.tenant)
                self._seen = erasure.number
        if self._leads():
            await self._store.erasures.forget()

    async def _adopt_deletions(self, engine: Backend) -> None:
        for tenant, deletions in (await self._store.tenant_deletions.all()).items():
            if deletions > engine.deletions_of(tenant):
                engine.adopt_deletion(tenant, deletions)

    async def _publish(self, engine: Backend) -> None:
        """Share the deletions from the time when this server had its own file."""
        tenants = {key.tenant for key in await self._store.keys.all()} | {self._store.tenant}
        own = {tenant: engine.deletions_of(tenant) for tenant in tenants}
        await self._store.tenant_deletions.raise_to({tenant: count for tenant, count in own.items() if count})

    async def _follow(self) -> None:
        engine = await self._host.until_ready()
        is_published = False
        while True:
            self._news.clear()
            try:
                if not is_published:
                    await self._publish(engine)
                    is_published = True
                await self.catch_up(engine)
            except OutageError as error:
                logger.warning("deletions at other servers are followed later: %s", error)
            except Exception:
                logger.exception("deletions at other servers could not be followed; the next attempt is in 15 s")
            with suppress(TimeoutError):
                async with asyncio.timeout(LOOK_SECONDS):
                    await self._news.wait()
