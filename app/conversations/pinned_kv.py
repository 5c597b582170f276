"""KV of pinned chats: the disk promises to keep it for as long as a chat is pinned.

pinned, answered or renewed -> promised for a day -> renewed every half hour -> unpinned: released

The mark `pinned` in the database is the only record. A server that starts renews the promises of all pinned chats, and
a promise outlasts the stop of a server by a day. Without bytes that are reserved for the tenant, nothing is promised.

Each server of a database does this with its own disk, or with the folder that it shares with others. A change of the
mark reaches all of them by a notice.
"""

import asyncio
import json
import logging
from collections.abc import Awaitable, Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Final
from weakref import WeakValueDictionary

from app.conversations.chat_prefixes import ChatPrefix, ChatPrefixes
from app.domain.token_history import num_common, pack_ids
from app.host.engine_host import EngineHost
from app.runs.run import Run
from app.schemas.response_bodies.places import ChatDeclineReason
from app.storage.conversations import PINNED
from app.storage.notices import NoticeHandlers
from app.storage.store import Store
from engine.api.errors import EbbError, NotFoundError
from engine.api.promise import PromiseRequest

PROMISED_SECONDS: Final = 24 * 3600.0
"""Time for which a promise lasts without a renewal."""
RENEW_SECONDS: Final = 1800.0
"""Seconds between two renewals of all promises."""
_FIRST_WAIT_SECONDS: Final = 1.0
_LONGEST_WAIT_SECONDS: Final = 60.0
"""Seconds until a renewal is repeated for which the disk was away."""
_PATIENCE_SECONDS: Final = 2.0
"""Time in which the blocks of an answer reach the disk."""
_RENEWAL_PATIENCE_SECONDS: Final = 0.5
"""Time in which the disk answers a renewal. Blocks that it lacks do not delay the next chat for longer."""
_BATCH: Final = 20
"""Chats whose tokens are in memory at a time."""

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptKV:
    """The KV of a chat that the disk keeps.

    tokens: number of the first tokens of the chat whose KV is kept.
    declined: number of the tokens after these that fill blocks and are not kept.
    nbytes: size of the KV that is kept.
    reason: why not all of it is kept; None if it is.
    """

    tokens: int = 0
    declined: int = 0
    nbytes: int = 0
    reason: ChatDeclineReason | None = None


_NOT_READY: Final = KeptKV(reason="not_ready")


class PinnedKV:
    """Owner of the promises for pinned chats, of all tenants."""

    def __init__(
        self,
        host: EngineHost,
        store: Store,
        *,
        reserved: Callable[[str], int],
        reserving: Callable[[], Collection[str]],
    ) -> None:
        """Prepare to keep.

        reserved: returns the bytes of the disk that are reserved for a tenant.
        reserving: returns the tenants with reserved bytes.
        """
        self._host = host
        self._store = store
        self._reserved = reserved
        self._reserving = reserving
        self._kept: dict[str, dict[str, KeptKV]] = {}
        """State of each chat that may have promises for its pin, by tenant and id."""
        self._locks = WeakValueDictionary[str, asyncio.Lock]()
        self._tasks: set[asyncio.Task[None]] = set()

    def start(self) -> None:
        """Start the task that renews the promises once there is an engine."""
        self._spawn(self._renew_forever())

    async def stop(self) -> None:
        """Cancel what is in progress. The promises last."""
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def after(self, run: Run) -> None:
        """Promise the blocks of an answer too once it has ended, if its chat is pinned."""
        self._spawn(self._after(run))

    @property
    def notice_handlers(self) -> NoticeHandlers:
        """Handlers of the notices of other servers."""
        return {PINNED: self._on_notice}

    def _on_notice(self, text: str) -> None:
        server, tenant, conversation_id, pinned = json.loads(text)
        if server != self._store.database.server:
            self.on_marked(tenant, [conversation_id], pinned=pinned)

    def on_marked(self, tenant: str, conversation_ids: Sequence[str], *, pinned: bool) -> None:
        """Follow a change of the mark `pinned`."""
        if pinned and not self._reserved(tenant):
            return
        for conversation_id in conversation_ids:
            if pinned:
                # From now on there may be promises, which a removal of the mark must find.
                self._kept.setdefault(tenant, {}).setdefault(conversation_id, _NOT_READY)
                self._spawn(self._renew(tenant, conversation_id, _PATIENCE_SECONDS))
            elif conversation_id in self._kept.get(tenant, ()):
                self._spawn(self._release(tenant, conversation_id))

    async def state(self, tenant: str, conversation_id: str) -> KeptKV:
        """Return whether the KV of a chat is kept. One that is not is tried again. Raise NotFoundError."""
        conversation = await self._store.of(tenant).conversations.get(conversation_id)
        if not conversation.pinned:
            return KeptKV(reason="not_pinned")
        kept = self._kept.get(tenant, {}).get(conversation_id)
        if kept is None or kept.reason is not None:
            await self._renew(tenant, conversation_id, _PATIENCE_SECONDS)
            kept = self._kept.get(tenant, {}).get(conversation_id)
        return kept or _NOT_READY

    def _spawn(self, work: Awaitable[None]) -> None:
        task = asyncio.create_task(_logged(work), name="keep-pinned-kv")
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def _lock(self, tenant: str) -> asyncio.Lock:
        """Return the lock under which a tenant's promises are made and released, so that none outlives its pin."""
        lock = self._locks.get(tenant)
        if lock is None:
            lock = self._locks[tenant] = asyncio.Lock()
        return lock

    async def _after(self, run: Run) -> None:
        await run.ended.wait()
        await self._renew(run.tenant, run.answer.conversation_id, _PATIENCE_SECONDS)

    async def _renew(self, tenant: str, conversation_id: str, patience: float) -> None:
        """Promise the KV of a chat if it is pinned."""
        async with self._lock(tenant):
            store, kept = self._store.of(tenant), self._kept.setdefault(tenant, {})
            try:
                conversation = await store.conversations.get(conversation_id)
            except NotFoundError:
                kept.pop(conversation_id, None)
                return
            if conversation.pinned:
                kept[conversation_id] = await self._promise(store, conversation_id, patience)

    async def _promise(self, store: Store, conversation_id: str, patience: float) -> KeptKV:
        reserved = self._reserved(store.tenant)
        if self._host.status not in ("ok", "degraded"):
            return _NOT_READY
        if not reserved:
            return KeptKV(reason="no_reservation")
        prefix = (await ChatPrefixes(self._host, store).prefixes([conversation_id])).get(conversation_id, ChatPrefix())
        ids, engine = prefix.ids, prefix.engine
        if engine is None:
            return _NOT_READY
        if not ids:
            return KeptKV(reason="not_computed")
        wanted = PromiseRequest(len(ids), PROMISED_SECONDS, reserved)
        report = await engine.prefixes.promise(ids, wanted, tenant=store.tenant, patience=patience)
        num_blocks = report.num_tokens // engine.config.cache.block_size
        nbytes = num_blocks * engine.stats().blocks.nbytes
        return KeptKV(tokens=report.num_tokens, declined=report.num_declined, nbytes=nbytes, reason=report.reason)

    async def _release(self, tenant: str, conversation_id: str) -> None:
        """End the promises of a chat that is not pinned any more, except for what other pinned chats begin with.

        A renewal tries again what fails.
        """
        async with self._lock(tenant):
            store, kept = self._store.of(tenant), self._kept.setdefault(tenant, {})
            try:
                if (await store.conversations.get(conversation_id)).pinned:
                    return
            except NotFoundError:
                # The deletion erases its blocks.
                kept.pop(conversation_id, None)
                return
            if await self._is_released(store, conversation_id):
                kept.pop(conversation_id, None)
            else:
                kept[conversation_id] = _NOT_READY

    async def _is_released(self, store: Store, conversation_id: str) -> bool:
        prefixes = ChatPrefixes(self._host, store)
        prefix = (await prefixes.prefixes([conversation_id])).get(conversation_id, ChatPrefix())
        if prefix.engine is None:
            return False
        if not prefix.ids:
            return True
        num_shared = await self._num_shared(prefixes, prefix, await store.conversations.pinned_ids())
        return await prefix.engine.prefixes.release(prefix.ids, num_shared=num_shared, tenant=store.tenant)

    async def _num_shared(self, prefixes: ChatPrefixes, prefix: ChatPrefix, pinned: Sequence[str]) -> int:
        """Return the length of the longest part of `prefix` that one of the pinned chats of its model begins with."""
        packed, longest = pack_ids(prefix.ids), 0
        for first in range(0, len(pinned), _BATCH):
            for other in (await prefixes.prefixes(pinned[first : first + _BATCH])).values():
                if other.engine is prefix.engine:
                    longest = max(longest, num_common(packed, pack_ids(other.ids)))
        return longest

    async def _renew_forever(self) -> None:
        # A chat that is unpinned before there is an engine must be known, to be released by it.
        await self._try_to_renew_all()
        wait = _FIRST_WAIT_SECONDS
        while True:
            await self._host.until_ready()
            is_done = await self._try_to_renew_all()
            await asyncio.sleep(RENEW_SECONDS if is_done else wait)
            wait = _FIRST_WAIT_SECONDS if is_done else min(2 * wait, _LONGEST_WAIT_SECONDS)

    async def _try_to_renew_all(self) -> bool:
        """Renew all promises. Return False if the disk was away for some, as in the first moments of a server."""
        try:
            return all([await self._renew_all(tenant) for tenant in {*self._reserving(), *self._kept}])
        except Exception:
            logger.exception("the KV of pinned chats could not be promised; the renewal will be retried")
            return False

    async def _renew_all(self, tenant: str) -> bool:
        """Renew the promises of a tenant, and release those of chats that another server has unpinned.

        Return False if the disk was away for some.
        """
        pinned = await self._store.of(tenant).conversations.pinned_ids()
        for conversation_id in pinned:
            await self._renew(tenant, conversation_id, _RENEWAL_PATIENCE_SECONDS)
        kept = self._kept.get(tenant, {})
        for conversation_id in kept.keys() - pinned:
            await self._release(tenant, conversation_id)
        return all(each.reason not in ("disk_away", "not_ready") for each in kept.values())


async def _logged(work: Awaitable[None]) -> None:
    try:
        await work
    except EbbError as error:
        logger.warning("the KV of a pinned chat is promised later: %s", error)
    except Exception:
        logger.exception("the KV of a pinned chat could not be promised; the next renewal tries again")
