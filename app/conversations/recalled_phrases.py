"""Phrases of earlier answers after a restart: the engine receives the newest answers of stored chats again.

started -> the engine is ready -> for each tenant the newest chats, the newest one last

The database is the only record, so the phrases of a deleted chat never come back.
"""

import asyncio
import logging
from collections.abc import Sequence
from contextlib import suppress
from typing import Final

from app.domain.records import Conversation, Message
from app.domain.token_history import prompt_key, tokens_under, unpack_ids, whole_key
from app.host.engine_host import EngineHost
from app.storage.store import Store
from engine.api.stored_tokens import AnsweredText
from engine.speculation.phrases import MAX_TENANTS, MAX_TOKENS

MAX_CHATS: Final = 100
"""Chats of a tenant whose answers are recalled."""

logger = logging.getLogger(__name__)


class PhraseRecall:
    """Owner of the task that recalls answers when the server starts."""

    def __init__(self, host: EngineHost, store: Store) -> None:
        self._host = host
        self._store = store
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Start the task, which begins once there is an engine."""
        self._task = asyncio.create_task(self._recall(), name="recall-phrases")

    async def stop(self) -> None:
        """Recall no more."""
        if self._task is not None:
            self._task.cancel()
            with suppress(asyncio.CancelledError):
                await self._task

    async def _recall(self) -> None:
        engine = await self._host.until_ready()
        if not engine.config.speculation.prompt_lookup:
            return
        try:
            for tenant in reversed(await self._store.tenants.recent(MAX_TENANTS)):
                for text in await self._texts(self._store.of(tenant)):
                    await engine.prefixes.recall(text, tenant=tenant)
        except Exception:
            logger.exception("phrases of earlier answers were not recalled; they are collected again")

    async def _texts(self, store: Store) -> list[AnsweredText]:
        """Return the newest chats with as many tokens of answers as the engine remembers, the newest one last."""
        texts, num_tokens = list[AnsweredText](), 0
        for chat in await store.conversations.recent(MAX_CHATS):
            path = await store.messages.path(chat.head_id)
            text = await asyncio.to_thread(_answered_text, chat, path, self._host.prompt_identity)
            if text.spans:
                texts.append(text)
                num_tokens += sum(stop - start for start, stop in text.spans)
            if num_tokens >= MAX_TOKENS:
                break
        return texts[::-1]


def _answered_text(chat: Conversation, path: Sequence[Message], prompt_identity: str) -> AnsweredText:
    """Return the tokens of the shown path of a chat; none if its next prompt is rendered again."""
    wanted = prompt_key(prompt_identity, chat.system_prompt)
    keys = (tokens.prompt_key for message in reversed(path) for tokens in message.token_lists)
    key = next((key for key in keys if whole_key(key) == wanted), wanted)
    own = [tokens_under(message, key) for message in path]
    start = max((at for at, tokens in enumerate(own) if tokens is not None and tokens.starts_prompt), default=len(own))
    ids, spans = list[int](), list[tuple[int, int]]()
    for at in range(start, len(own)):
        tokens, is_answer = own[at], path[at].role == "assistant"
        if tokens is None:
            continue
        # The ids of the question were replaced by those of another prompt.
        if is_answer and own[at - 1] is None:
            break
        begin = len(ids)
        ids += unpack_ids(tokens.ids)
        if is_answer and len(ids) > begin:
            spans.append((begin, len(ids)))
    return AnsweredText(ids, spans)
