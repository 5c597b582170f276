"""Deletions that can be undone: hidden at once, without KV after ten minutes, removed after days.

shown --delete--> hidden --UNDO_SECONDS later--> hidden without KV --`deleted_days` later--> removed
  ^-----restore-----/------------restore-------------/

Prefixes that other conversations and branches share keep their KV (app/conversations/kv_erasure.py).

Both times must pass on the system clock and in serving time, so that setting the clock forward removes nothing early.
Pending removals are in the store, and another process continues them after a restart. Nothing is removed without an
engine, since only the engine can erase the KV.

Stored responses expire in the same way, `response_days` after their creation. Temporary conversations expire
TEMPORARY_DAYS after their last use, and a deleted one is removed at the next look.
"""

import asyncio
import logging
import math
import time
from collections.abc import Callable, Sequence
from contextlib import suppress

from app.conversations.kv_erasure import KVErasure
from app.domain.records import Conversation, ConversationSource
from app.host.engine_host import EngineHost
from app.runs.service import RunRegistry
from app.storage.removals import Removed
from app.storage.store import Store
from app.storage.versions import Versions
from cache_tiers.tier import BLOCK_TTL_SECONDS
from engine.api.errors import NotFoundError, OutageError

UNDO_SECONDS = 600.0
LOOK_SECONDS = 15.0
DAY = 86_400.0
GONE_DAYS = math.ceil(BLOCK_TTL_SECONDS / DAY)
"""Days after which no tier has the KV of a deleted conversation any more, erased or not."""
TEMPORARY_DAYS = 1
"""Days from the last use of a temporary conversation to its removal."""

logger = logging.getLogger(__name__)


class Deletions:
    """Deletion, restoration and expiry in the store's conversations, with their runs and KV."""

    def __init__(
        self,
        host: EngineHost,
        store: Store,
        runs: RunRegistry,
        erasure: KVErasure,
        *,
        response_days: int,
        deleted_days: int,
        leads: Callable[[], bool] = lambda: True,
    ) -> None:
        """Prepare the deletions.

        response_days: age at which stored responses expire; 0 keeps them forever.
        deleted_days: time for which deleted conversations and messages can be restored; 0 means UNDO_SECONDS.
        leads: whether this server removes what is due, as one of several servers does for all.
        """
        self._leads = leads
        self._host = host
        self._store = store
        self._runs = runs
        self._erasure = erasure
        self._response_days = response_days
        self._deleted_days = deleted_days
        self._is_due = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    def of(self, store: Store) -> "Deletions":
        """Return the deletions of another tenant, given its store."""
        made = Deletions(
            self._host,
            store,
            self._runs,
            self._erasure,
            response_days=self._response_days,
            deleted_days=self._deleted_days,
        )
        made._is_due = self._is_due
        return made

    @property
    def seconds_kept(self) -> float:
        """Shortest time from a deletion to the removal."""
        return max(UNDO_SECONDS, self._deleted_days * DAY)

    def begin(self) -> None:
        """Start the task that removes due conversations, messages and responses."""
        self._task = asyncio.create_task(self._remove_in_time(), name="remove-deleted")

    async def stop(self) -> None:
        """Stop the task. Pending removals are left to the next process."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    async def delete_conversation(
        self, conversation_id: str, expected: Versions = None, *, permanently: bool = False
    ) -> None:
        """Hide a conversation and cancel its runs.

        permanently: remove the conversation at once, even if it is hidden already; if the model is not loaded yet, once
            it is.

        Raise NotFoundError, VersionMismatchError.
        """
        try:
            await self._store.deletions.hide_conversation(conversation_id, expected)
        except NotFoundError:
            # The conversation may be hidden already.
            if not permanently:
                raise
        tenant = self._store.tenant
        await self._runs.cancel_in([conversation_id], tenant)
        self._runs.forget_prefixes(tenant)
        if permanently and self._host.engine is not None:
            await self._store.deletions.remove_conversation(conversation_id, self._erasure.leaving)
        elif permanently:
            await self._store.deletions.mark_conversation(conversation_id)

    async def delete_conversations(self, ids: Sequence[str]) -> list[str]:
        """Hide conversations and cancel their runs. Returns the ids of those that existed."""
        hidden = await self._store.deletions.hide_conversations(ids)
        await self._end_work_on(hidden)
        return hidden

    async def restore_conversations(self, ids: Sequence[str]) -> list[str]:
        """Restore hidden conversations. Returns the ids of those that were still there."""
        return await self._store.deletions.show_conversations(ids)

    async def delete_all(self, source: ConversationSource) -> int:
        """Hide all conversations of a source and cancel their runs. Returns the number of conversations."""
        hidden = await self._store.recently_deleted.hide_all(source)
        await self._end_work_on(hidden)
        return len(hidden)

    async def remove_deleted(self) -> int:
        """Begin the removal of all hidden conversations, with their KV. Returns the number of conversations.

        From the return on, none of them can be restored. The server that leads removes them, one after the other.
        """
        marked = await self._store.deletions.mark_deleted()
        self._is_due.set()
        return marked

    async def restore_conversation(self, conversation_id: str) -> Conversation:
        """Restore a hidden conversation. Raise NotFoundError once it is removed."""
        return await self._store.deletions.show_conversation(conversation_id)

    async def delete_message(
        self, message_id: str, expected: Versions = None, *, alone: bool = False, permanently: bool = False
    ) -> Conversation:
        """Hide a message and all that follow it, and cancel their runs.

        alone: hide the question of the message with its answers only, as `DeletionStore.hide_message` does.
        permanently: begin their removal, even if they are hidden already.

        Raise as `DeletionStore.hide_message`.
        """
        deletions = self._store.deletions
        try:
            conversation, run_ids = await deletions.hide_message(message_id, expected, alone=alone)
        except NotFoundError:
            if not permanently:
                raise
        else:
            for run_id in run_ids:
                await self._runs.cancel(run_id, self._store.tenant)
            self._runs.forget_prefixes(self._store.tenant)
            if not permanently:
                return conversation
        conversation = await deletions.mark_message(message_id)
        self._is_due.set()
        return conversation

    async def restore_message(self, message_id: str) -> Conversation:
        """Restore a hidden message.

        Raise NotFoundError once it is removed, and ConflictError while the message that it follows is deleted.
        """
        return await self._store.deletions.show_message(message_id)

    async def remove(self, until: float) -> None:
        """Permanently remove conversations and messages that were hidden by the time `until`, for all tenants."""
        while (removed := await self._store.deletions.remove_oldest(until, self._erasure.leaving)) is not None:
            self._forget(removed)

    async def remove_temporary(self, until: float) -> None:
        """Permanently remove temporary conversations that were deleted, or last used by the time `until`."""
        while (removed := await self._store.deletions.remove_temporary(until, self._erasure.leaving)) is not None:
            self._forget(removed)

    async def erase_hidden(self, until: float) -> None:
        """Erase the KV of conversations and messages that were hidden by the time `until`, for all tenants."""
        deleted, leaving = self._store.recently_deleted, self._erasure.leaving
        for next_with_kv in (deleted.next_with_kv, deleted.next_branch_with_kv):
            while (hidden := await next_with_kv(until, leaving)) is not None:
                self._forget(hidden)

    async def remove_expired(self, until: float) -> None:
        """Remove all tenants' responses that were created by the time `until`, and complete deletions of responses."""
        while (removed := await self._store.responses.remove_expired(until, self._erasure.leaving)) is not None:
            self._forget(removed)

    async def remove_due(self, elapsed: float) -> None:
        """Remove everything that is due.

        elapsed: seconds of serving since the last call.
        """
        passed = await self._store.served.tick(elapsed, time.time(), window=UNDO_SECONDS)
        undone_until = min(passed, time.time() - UNDO_SECONDS)
        await self.remove(await self._kept_until(undone_until))
        await self.remove_temporary(await self._days_ago(TEMPORARY_DAYS))
        await self.erase_hidden(undone_until)
        await self.remove_expired(await self._responses_expire())
        await self._store.owed_erasures.forget(await self._days_ago(GONE_DAYS))

    async def _end_work_on(self, hidden: Sequence[str]) -> None:
        await self._runs.cancel_in(hidden, self._store.tenant)
        self._runs.forget_prefixes(self._store.tenant)

    def _forget(self, removed: Removed) -> None:
        if removed.nodes:
            self._runs.forget_prefixes(removed.tenant)

    async def _kept_until(self, undone_until: float) -> float:
        """Return the time of deletion up to which conversations and messages are removed."""
        days = self._deleted_days
        return min(undone_until, await self._days_ago(days) if days else math.inf)

    async def _responses_expire(self) -> float:
        """Return the creation time up to which responses have expired."""
        days = self._response_days
        return await self._days_ago(days) if days else -math.inf

    async def _days_ago(self, days: int) -> float:
        """Return the time that is this many days ago on the system clock and in serving time."""
        return min(await self._store.served.days_ago(days), time.time() - days * DAY)

    async def _remove_in_time(self) -> None:
        ticked = time.monotonic()
        await self._host.until_ready()
        while True:
            elapsed, ticked = time.monotonic() - ticked, time.monotonic()
            try:
                if self._leads():
                    await self._store.imports.discard_former()
                    await self.remove_due(elapsed)
            except OutageError as error:
                logger.warning("removal of deleted conversations and messages is delayed: %s", error)
            except Exception:
                logger.exception("deleted conversations and messages could not be removed; the removal will be retried")
            with suppress(TimeoutError):
                async with asyncio.timeout(LOOK_SECONDS):
                    await self._is_due.wait()
            self._is_due.clear()
