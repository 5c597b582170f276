"""The beginning of a request that is stored already, of which nothing is stored again.

A client that keeps its conversation sends all of it with every request. The new response follows the stored messages,
as if the request had named the response before it. A name of the input, stored with each response, leads to the
candidate. The candidate's messages are compared one by one, so the name decides nothing.
"""

import asyncio
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from app.apis.responses.input_items import item_of
from app.apis.responses.serializer import items_json
from app.domain.records import Conversation, Message
from app.domain.token_history import pack_ids, tokens_under
from app.domain.tool_use import ToolUse, dump_tool_use
from app.prompts.turn_prompt import Prompt
from app.storage.store import Store
from engine.api.errors import NotFoundError

MAX_NAMES: Final = 256
"""Maximum number of beginnings that are looked up, the longest first."""
NAME_CHARACTERS: Final = 32

Said = tuple[str, str, ToolUse | None]


@dataclass(frozen=True, slots=True)
class StoredPrefix:
    """Stored messages that equal the beginning of a request.

    path: the messages, the root first.
    places: for each of them, how many messages of the request it and those before it equal.
    """

    conversation: Conversation
    path: Sequence[Message]
    places: Sequence[int]

    def rest_of(self, asked: Sequence[Message], prompt: Prompt) -> list[Message]:
        """Return the messages of the request to store, the first of which follows a stored one.

        The last one has the ids of `prompt` that its path lacks. If ids of the last stored answers are not those of the
        prompt, their texts are stored again, which takes less than all ids.
        """
        num_path, num_bytes = _num_extended(self.path, prompt)
        is_extended = num_path > 0
        last = (num_path if is_extended else len(self.path)) - 1
        rest = [replace(each, conversation_id=self.conversation.id) for each in asked[self.places[last] :]]
        rest[0] = replace(rest[0], parent_id=self.path[last].id)
        added = replace(prompt.tokens, ids=pack_ids(prompt.ids)[num_bytes:], starts_prompt=False)
        rest[-1] = replace(rest[-1], tokens=added if is_extended else prompt.tokens)
        return rest


def names_of(asked: Sequence[Message]) -> list[str]:
    """Return the names of the beginnings of `asked`, the shortest first. The last one is the name of all."""
    names, chain = list[str](), hashlib.sha256()
    for each in asked:
        for part in (each.role, each.content, dump_tool_use(each.tool_use) or ""):
            contents = part.encode("utf-8", "surrogatepass")
            chain.update(len(contents).to_bytes(8, "little"))
            chain.update(contents)
        names.append(chain.hexdigest()[:NAME_CHARACTERS])
    return names


async def stored_prefix(store: Store, asked: Sequence[Message], names: Sequence[str]) -> StoredPrefix | None:
    """Find the stored messages that equal the most of `asked`, but not all of it. Returns None if there are none.

    names: those of `asked`.
    """
    found = await store.responses.with_input(names[:-1][-MAX_NAMES:])
    if found is None:
        return None
    path = await store.messages.path(found)
    places = await asyncio.to_thread(_common, path, asked)
    if not places:
        return None
    try:
        conversation = await store.conversations.get(path[0].conversation_id)
    except NotFoundError:
        return None
    return StoredPrefix(conversation, path[: len(places)], places)


def _common(path: Sequence[Message], asked: Sequence[Message]) -> list[int]:
    """Return, for each message at the beginning of `path` that equals some of `asked`, where these end.

    The last message of `asked` is left out: an answer needs a separate message to follow.
    """
    places = list[int]()
    for message in path:
        contents, place = _contents(message), places[-1] if places else 0
        end = place + len(contents)
        same = [(each.role, each.content, each.tool_use) for each in asked[place:end]]
        if not contents or end >= len(asked) or contents != same:
            break
        places.append(end)
    return places


def _num_extended(path: Sequence[Message], prompt: Prompt) -> tuple[int, int]:
    """Return the number of messages at the beginning of `path` whose ids `prompt` begins with, and that of their bytes.

    Both are 0 if the prompt has no use for the ids of the path.
    """
    ids, num_messages, end = pack_ids(prompt.ids), 0, 0
    own = [tokens_under(message, prompt.tokens.prompt_key) for message in path]
    start = max((at for at, tokens in enumerate(own) if tokens is not None and tokens.starts_prompt), default=len(path))
    for number, tokens in enumerate(own[start:], start=start + 1):
        if tokens is None:
            continue
        if ids[end : end + len(tokens.ids)] != tokens.ids:
            break
        num_messages, end = number, end + len(tokens.ids)
    return num_messages, end


def _contents(message: Message) -> list[Said]:
    """Return what a client would send in the place of a stored message; nothing where that is unknown.

    The items of a request have no reasoning, so an answer with reasoning is no part of them.
    """
    if message.run_id is None:
        return [(message.role, message.content, message.tool_use)]
    if message.status == "in_progress" or message.reasoning:
        return []
    items = [item_of(each) for each in items_json(message)]
    return [(each.stored_role, each.text, each.tool_use) for each in items]
