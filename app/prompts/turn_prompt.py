"""Prompt of a turn, from the stored token ids of its path. History is not tokenized again while the ids are valid."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from app.domain.records import Message
from app.domain.token_history import MessageTokens, joined_ids, pack_ids, prompt_key, unpack_ids
from app.domain.tool_use import IsCall, IsResult
from app.host.backend import Backend
from app.prompts.tokenization import chat_ids, size_of, to_ids
from app.tenants.gate import TenantGate
from models.chat_format import Message as ChatMessage
from models.thinking import ThinkingMode


@dataclass(frozen=True, slots=True)
class Prompt:
    """Prompt of a turn.

    ids: all token ids.
    tokens: the part that is stored with the message before the answer.
    """

    ids: list[int]
    tokens: MessageTokens


@dataclass(frozen=True, slots=True)
class PromptMaker:
    """Maker of prompts for one conversation.

    prompt_identity: identity of the tokenizer and template.
    system_prompt: None without one.
    param: the client's name of the new messages.
    tools: messages that the prompt begins with, as in `app.prompts.tool_offer.ToolOffer.messages`.
    """

    gate: TenantGate
    engine: Backend
    prompt_identity: str
    system_prompt: str | None
    param: str = "content"
    tools: Sequence[ChatMessage] = ()

    async def prompt(
        self, path: Sequence[Message], new: Sequence[ChatMessage] = (), *, thinking: ThinkingMode | None = None
    ) -> Prompt:
        """Build the prompt for an answer to `new`, sent after `path` (root first), or to the last message of `path`.

        Reasoning is not part of later prompts. After an answer with reasoning, the conversation is therefore rendered
        again without it. The prompt before that answer stays the same, and its KV is found again.

        thinking: one of the model's modes; None leaves it to the model.

        Raises:
            InvalidRequestError: the prompt is too long, or the template refuses the messages.
        """
        key = prompt_key(self.prompt_identity, self.system_prompt, "".join(tools.content for tools in self.tools))
        tokenised = _tokenised(path)
        said_since = [*turns_of(path[len(tokenised) :]), *new]
        num_new = len(said_since)
        messages = [*self.tools, *chat_messages(self.system_prompt, [*turns_of(tokenised), *said_since])]
        ids = joined_ids([message.tokens for message in tokenised], key)
        if ids is not None and not num_new and thinking is None:
            return Prompt(ids, path[-1].tokens)
        if ids is None or not num_new or tokenised[-1].role != "assistant" or self._was_thought(tokenised[-1]):
            return await self._rendered(messages, key, thinking)
        added = await to_ids(
            self.gate,
            self.engine,
            lambda: self.engine.chat_format.extend(ids, messages, num_new=num_new, thinking=thinking),
            size_of(messages[-num_new:]),
            param=self.param,
        )
        return Prompt(ids + added, MessageTokens(pack_ids(added), key))

    async def next_prefix(self, path: Sequence[Message]) -> list[int]:
        """Return the ids with which the next turn's prompt begins, whatever its question is.

        path: ends with an answer.
        """
        messages = [*self.tools, *chat_messages(self.system_prompt, turns_of(path))]
        return await to_ids(
            self.gate,
            self.engine,
            lambda: self.engine.chat_format.next_prefix(messages),
            size_of(messages),
            param=self.param,
        )

    def _was_thought(self, answer: Message) -> bool:
        thinking = self.engine.chat_format.thinking
        return thinking is not None and thinking.is_in(unpack_ids(answer.tokens.ids))

    async def _rendered(self, messages: list[ChatMessage], key: str, thinking: ThinkingMode | None) -> Prompt:
        ids = await chat_ids(self.gate, self.engine, messages, param=self.param, thinking=thinking)
        return Prompt(ids, MessageTokens(pack_ids(ids), key, starts_prompt=True))


def _tokenised(path: Sequence[Message]) -> Sequence[Message]:
    """Return the path through the last message with known ids. Later messages are waiting for an answer."""
    known = (index for index in range(len(path), 0, -1) if path[index - 1].tokens.prompt_key)
    return path[: next(known, 0)]


def chat_messages(system_prompt: str | None, turns: Sequence[ChatMessage]) -> list[ChatMessage]:
    """Build the messages for the template.

    Templates accept one system message, at the beginning, so all system messages there are joined.
    """
    messages = [ChatMessage("system", system_prompt), *turns] if system_prompt else list(turns)
    first = next((index for index, message in enumerate(messages) if message.role != "system"), len(messages))
    if first < 2:
        return messages
    return [ChatMessage("system", "\n\n".join(message.content for message in messages[:first])), *messages[first:]]


def turns_of(path: Sequence[Message]) -> list[ChatMessage]:
    """Convert stored messages for the template. A call that a client sent is added to the answer before it."""
    turns: list[ChatMessage] = []
    for message in path:
        said, is_result = message.said, isinstance(message.tool_use, IsResult)
        if isinstance(message.tool_use, IsCall) and turns and turns[-1].role == "assistant":
            turns[-1] = replace(turns[-1], tool_calls=turns[-1].tool_calls + said.calls)
        else:
            turns.append(ChatMessage("tool" if is_result else message.role, said.text, said.calls))
    return turns
