"""Deletions that can be taken back: hidden at once, removed with their KV once nobody can want them back.

hidden --restore--> shown
   \\--UNDO_SECONDS later--> removed; then its KV goes, but for what something else begins with (app/kv_erasure.py)

UNDO_SECONDS have to pass on the system's clock and in the time that servers serve: a clock that is set forward empties
no trash. What waits to be removed is in the store, so another process continues where one has stopped. Nothing is
removed without an engine, which is what can erase the KV.

Stored responses expire in the same way, `response_days` after they were made.
"""

import asyncio
import logging
import math
import time

from app.engine_host import EngineHost
from app.kv_erasure import KVErasure
from app.records import Conversation
from app.runs import RunRegistry
from app.storage.removals import Removed
from app.storage.store import Store
from app.storage.versions import Versions
from engine.errors import NotFoundError, OutageError

UNDO_SECONDS = 600.0
LOOK_SECONDS = 15.0
DAY = 86_400.0

logger = logging.getLogger(__name__)


class Deletions:
    """Ties the store, the runs and the engine together."""

    def __init__(
        self, host: EngineHost, store: Store, runs: RunRegistry, erasure: KVErasure, *, response_days: int = 0
    ) -> None:
        """Tie them together. response_days: age at which stored responses expire; 0 for never."""
        self._host = host
        self._store = store
        self._runs = runs
        self._erasure = erasure
        self._response_days = response_days
        self._task: asyncio.Task[None] | None = None

    def begin(self) -> None:
        """Look again and again for what is to be removed."""
        self._task = asyncio.create_task(self._remove_in_time(), name="remove-deleted")

    async def stop(self) -> None:
        """What has not been removed stays for the next process."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    async def delete_conversation(
        self, conversation_id: str, expected: Versions = None, *, permanently: bool = False
    ) -> None:
        """Hide it, and end what is being generated in it. permanently: remove it at once, also if it was hidden before.

        Raises NotFoundError, VersionMismatchError.
        """
        try:
            await self._store.deletions.hide_conversation(conversation_id, expected)
        except NotFoundError:
            # It may be hidden already.
            if not permanently:
                raise
        tenant = self._store.tenant
        await self._runs.cancel_in(conversation_id, tenant)
        self._runs.forget_prefixes(tenant)
        if permanently:
            self._erasure.begin(await self._store.deletions.remove_conversation(conversation_id), tenant)

    async def restore_conversation(self, conversation_id: str) -> Conversation:
        """Raises NotFoundError once it is removed."""
        return await self._store.deletions.show_conversation(conversation_id)

    async def delete_message(self, message_id: str, expected: Versions = None) -> Conversation:
        """Hide it with all that follows it, and end what is being generated there.

        Raises NotFoundError, VersionMismatchError.
        """
        conversation, run_ids = await self._store.deletions.hide_message(message_id, expected)
        for run_id in run_ids:
            if (run := self._runs.get(run_id, self._store.tenant)) is not None:
                await self._runs.cancel(run)
        self._runs.forget_prefixes(self._store.tenant)
        return conversation

    async def restore_message(self, message_id: str) -> Conversation:
        """Raises NotFoundError once it is removed, ConflictError while what it follows is deleted."""
        return await self._store.deletions.show_message(message_id)

    async def remove(self, until: float) -> None:
        """For good, what any tenant hid at that time or before."""
        while (removed := await self._store.deletions.remove_oldest(until)) is not None:
            self._forget(removed)

    async def remove_expired(self, until: float) -> None:
        """Remove the responses of all tenants that were made by that time, and end deletions of responses."""
        while (removed := await self._store.responses.remove_expired(until)) is not None:
            self._forget(removed)

    async def remove_due(self, elapsed: float) -> None:
        """Remove everything whose time has come, `elapsed` seconds of serving after the last call."""
        passed = await self._store.served.tick(elapsed, time.time(), window=UNDO_SECONDS)
        await self.remove(min(passed, time.time() - UNDO_SECONDS))
        await self.remove_expired(await self._responses_expire())

    def _forget(self, removed: Removed) -> None:
        if removed.nodes:
            self._runs.forget_prefixes(removed.tenant)
            self._erasure.begin(removed.nodes, removed.tenant)

    async def _responses_expire(self) -> float:
        """Return the time by which a response was made if it expires now."""
        days = self._response_days
        return min(await self._store.served.days_ago(days), time.time() - days * DAY) if days else -math.inf

    async def _remove_in_time(self) -> None:
        ticked = time.monotonic()
        await self._host.until_ready()
        while True:
            elapsed, ticked = time.monotonic() - ticked, time.monotonic()
            try:
                await self.remove_due(elapsed)
            except OutageError as error:
                logger.warning("removing what was deleted waits: %s", error)
            except Exception:
                logger.exception("what was deleted could not be removed; it is tried again")
            await asyncio.sleep(LOOK_SECONDS)
