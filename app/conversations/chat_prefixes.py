"""Tiers that hold the KV of stored conversations, and prefetching before the next question."""

import asyncio
from collections.abc import Sequence

from app.domain.token_history import joined_ids, num_known, prompt_key, tokens_under, unpack_ids, whole_key
from app.host.engine_host import EngineHost
from app.storage.heads import Head
from app.storage.rows import no_conversation
from app.storage.store import Store
from cache_tiers.tier import TierId
from models.thinking import Thinking


class ChatPrefixes:
    """Prefixes of the conversations of the store's tenant. Unless an engine serves, none has KV or is prefetched."""

    def __init__(self, host: EngineHost, store: Store) -> None:
        self._host = host
        self._store = store

    async def warm(self, conversation_id: str) -> bool:
        """Prefetch a conversation's prefix for a question that may come soon.

        Returns whether any block is prefetched. Raise NotFoundError.
        """
        prefixes = await self.prefixes([conversation_id])
        if conversation_id not in prefixes:
            raise no_conversation(conversation_id)
        engine = self._host.engine
        if engine is None or self._host.status != "ok":
            return False
        return await engine.prefixes.warm(conversation_id, prefixes[conversation_id], tenant=self._store.tenant)

    async def leave(self, conversation_id: str) -> None:
        """Cancel the prefetch hint of a conversation. Raise NotFoundError."""
        await self._store.conversations.get(conversation_id)
        if self._host.engine is not None:
            self._host.engine.prefixes.leave(conversation_id)

    async def places(self, conversation_ids: Sequence[str]) -> dict[str, TierId | None]:
        """Return the place of each existing conversation's KV; None where no tier has any."""
        prefixes = await self.prefixes(conversation_ids)
        engine = self._host.engine
        if engine is None or self._host.status != "ok":
            return dict.fromkeys(prefixes)
        places = await engine.prefixes.places(list(prefixes.values()), tenant=self._store.tenant)
        return dict(zip(prefixes, places, strict=True))

    async def prefixes(self, conversation_ids: Sequence[str]) -> dict[str, list[int]]:
        """Return the computed prefix of each conversation's next prompt, as token ids."""
        heads = await self._store.heads.of(list(dict.fromkeys(conversation_ids)))
        engine = self._host.engine
        thinking = engine.chat_format.thinking if engine is not None else None
        return await asyncio.to_thread(_prefixes, heads, thinking, self._host.prompt_identity)


def _prefixes(heads: dict[str, Head | None], thinking: Thinking | None, prompt_identity: str) -> dict[str, list[int]]:
    return {
        name: [] if head is None else computed_prefix(head, thinking, prompt_key(prompt_identity, head.system_prompt))
        for name, head in heads.items()
    }


def computed_prefix(head: Head, thinking: Thinking | None, key: str) -> list[int]:
    """Return the computed prefix of the next prompt; empty if that prompt is rendered again.

    key: key of prompts with the system prompt of `head`.
    """
    if whole_key(head.key) != key:
        return []
    # Messages after the last ones with ids of this key are left out.
    path = head.path[: num_known(head.path, head.key)]
    last = tokens_under(path[-1], head.key) if path else None
    if last is not None and thinking is not None and thinking.is_in(unpack_ids(last.ids)):
        if head.next_ids:
            return unpack_ids(head.next_ids)[:-1]
        path = path[:-1]  # Reasoning is not part of the next prompt.
    # The KV of an answer's last token is never computed.
    return (joined_ids(path, head.key) or [])[:-1]
