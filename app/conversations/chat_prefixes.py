"""Tiers that hold the KV of stored conversations, and prefetching before the next question."""

import asyncio
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from app.domain.token_history import joined_ids, num_known, prompt_key, tokens_under, unpack_ids, whole_key
from app.host.backend import Backend
from app.host.engine_host import EngineHost
from app.storage.heads import Head
from app.storage.rows import no_conversation
from app.storage.store import Store
from cache_tiers.tier import TierId
from models.thinking import Thinking


@dataclass(frozen=True, slots=True)
class ChatPrefix:
    """The computed beginning of a conversation's next prompt.

    ids: token ids; empty if nothing is computed.
    engine: the model that continues the conversation; None while its prompts cannot be made.
    """

    ids: Sequence[int] = ()
    engine: Backend | None = None


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
        prefix = prefixes[conversation_id]
        if prefix.engine is None or self._host.status != "ok":
            return False
        return await prefix.engine.prefixes.warm(conversation_id, prefix.ids, tenant=self._store.tenant)

    async def leave(self, conversation_id: str) -> None:
        """Cancel the prefetch hint of a conversation. Raise NotFoundError."""
        await self._store.conversations.get(conversation_id)
        for engine in self._host.all_models:
            engine.prefixes.leave(conversation_id)

    async def places(self, conversation_ids: Sequence[str]) -> dict[str, TierId | None]:
        """Return the place of each existing conversation's KV; None where no tier has any."""
        prefixes = await self.prefixes(conversation_ids)
        found = dict[str, TierId | None].fromkeys(prefixes)
        if self._host.status != "ok":
            return found
        by_model: defaultdict[str, list[str]] = defaultdict(list)
        for name, prefix in prefixes.items():
            if prefix.engine is not None:
                by_model[prefix.engine.model_name].append(name)
        for names in by_model.values():
            engine = prefixes[names[0]].engine
            assert engine is not None
            ids = [prefixes[name].ids for name in names]
            found |= zip(names, await engine.prefixes.places(ids, tenant=self._store.tenant), strict=True)
        return found

    async def prefixes(self, conversation_ids: Sequence[str]) -> dict[str, ChatPrefix]:
        """Return the computed prefix of each conversation's next prompt."""
        heads = await self._store.heads.of(list(dict.fromkeys(conversation_ids)))
        models = {
            name: self._host.known_model(head.model if head is not None else None) for name, head in heads.items()
        }
        return await asyncio.to_thread(self._prefixes, heads, models)

    def _prefixes(
        self, heads: Mapping[str, Head | None], models: Mapping[str, Backend | None]
    ) -> dict[str, ChatPrefix]:
        return {name: ChatPrefix(self._computed(head, models[name]), models[name]) for name, head in heads.items()}

    def _computed(self, head: Head | None, engine: Backend | None) -> list[int]:
        if head is None or engine is None:
            return []
        key = prompt_key(self._host.prompt_identity_of(engine), head.system_prompt)
        return computed_prefix(head, engine.chat_format.thinking, key)


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
