"""The prompt of a turn, from the stored token ids of its path: history is never tokenised again while they hold."""

from collections.abc import Sequence
from dataclasses import dataclass

from app.backend import Backend
from app.prompts import to_ids
from app.records import Message
from app.token_history import MessageTokens, joined_ids, pack_ids, prompt_key
from models.pangu.chat_format import Message as ChatMessage


@dataclass(frozen=True, slots=True)
class Prompt:
    """ids: all of it. tokens: what the message before the answer keeps of it."""

    ids: list[int]
    tokens: MessageTokens


@dataclass(frozen=True, slots=True)
class PromptMaker:
    """prompt_identity: names the tokenizer and template. param: what clients call the new messages."""

    engine: Backend
    prompt_identity: str
    system_prompt: str | None
    param: str = "content"

    async def prompt(self, path: Sequence[Message], new: Sequence[ChatMessage] = ()) -> Prompt:
        """For an answer to `new`, said after `path` (root first); without `new`, to the last message of `path`.

        Raises:
            InvalidRequestError: too long, or the template refuses the messages.
        """
        key = prompt_key(self.prompt_identity, self.system_prompt)
        tokenised = _tokenised(path)
        num_new = len(path) - len(tokenised) + len(new)
        messages = chat_messages(self.system_prompt, path, new)
        ids = joined_ids([message.tokens for message in tokenised], key)
        if ids is not None and not num_new:
            return Prompt(ids, path[-1].tokens)
        if ids is None or tokenised[-1].role != "assistant":
            return await self._rendered(messages, key)
        text = "".join(message.content for message in messages[-num_new:])
        added = await to_ids(
            self.engine,
            lambda: self.engine.chat_format.extend(ids, messages, num_new=num_new),
            text,
            param=self.param,
        )
        return Prompt(ids + added, MessageTokens(pack_ids(added), key))

    async def _rendered(self, messages: list[ChatMessage], key: str) -> Prompt:
        text = "".join(message.content for message in messages)
        ids = await to_ids(self.engine, lambda: self.engine.chat_format.render(messages), text, param=self.param)
        return Prompt(ids, MessageTokens(pack_ids(ids), key, starts_prompt=True))


def _tokenised(path: Sequence[Message]) -> Sequence[Message]:
    """Up to the last message whose ids are known: what follows was said since, and waits for an answer."""
    known = (index for index in range(len(path), 0, -1) if path[index - 1].tokens.prompt_key)
    return path[: next(known, 0)]


def chat_messages(system_prompt: str | None, path: Sequence[Message], new: Sequence[ChatMessage]) -> list[ChatMessage]:
    """What the template gets. Templates know one system message, at the beginning: those that come first are joined."""
    messages = [*(ChatMessage(message.role, message.content) for message in path), *new]
    if system_prompt:
        messages.insert(0, ChatMessage("system", system_prompt))
    first = next((index for index, message in enumerate(messages) if message.role != "system"), len(messages))
    if first < 2:
        return messages
    return [ChatMessage("system", "\n\n".join(message.content for message in messages[:first])), *messages[first:]]
