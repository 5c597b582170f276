"""Prompt of a turn, from the stored token ids of its path. History is not tokenized again while the ids are valid."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from app.domain.left_out import WHOLE, LeftOut
from app.domain.records import Message
from app.domain.token_history import (
    MessageTokens,
    joined_ids,
    key_without,
    num_known,
    pack_ids,
    prompt_key,
    tokens_under,
    unpack_ids,
)
from app.domain.tool_use import IsCall, IsResult
from app.host.backend import Backend
from app.prompts.prefix_rules import AS_SENT, PrefixRules, StableMessages
from app.prompts.tokenization import LONG_TEXT, MANY_MESSAGES, apart_if, chat_ids, size_apart, size_of, to_ids
from app.prompts.volatile_lines import UNTREATED, TreatedLines
from app.tenants.gate import TenantGate
from engine.api.errors import InvalidRequestError, PromptTooLongError
from models.chat.format import Message as ChatMessage
from models.thinking import ThinkingMode

SUMMARY_TASK: Final = (
    "Summarize this conversation for an assistant that will continue it without seeing it. Say what was asked, found, "
    "decided and done, with names, numbers and paths as they are, and what is left to do. Write nothing else."
)
"""Request for a summary, as the last message of the user."""

SUMMARY_HEAD: Final = "Summary of the conversation so far:\n"


def with_summary(system_prompt: str | None, summary: str | None) -> str | None:
    """Return the system prompt with a summary at its end. None stands for the lack of either."""
    if summary is None:
        return system_prompt
    return "\n\n".join(part for part in (system_prompt, SUMMARY_HEAD + summary) if part)


@dataclass(frozen=True, slots=True)
class Prompt:
    """Prompt of a turn.

    ids: all token ids.
    tokens: the part that is stored with the message before the answer.
    lines: volatile lines that were treated.
    """

    ids: list[int]
    tokens: MessageTokens
    lines: TreatedLines = UNTREATED


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptMaker:
    """Maker of prompts for one conversation.

    prompt_identity: identity of the tokenizer and template.
    system_prompt: None without one.
    param: the client's name of the new messages.
    tools: messages that the prompt begins with, as in `app.prompts.tool_offer.ToolOffer.messages`.
    rules: rules for the beginning of the prompts.
    beginning: what the prompts lack of the beginning of each path.
    """

    gate: TenantGate
    engine: Backend
    prompt_identity: str
    system_prompt: str | None
    param: str = "content"
    tools: Sequence[ChatMessage] = ()
    rules: PrefixRules = AS_SENT
    beginning: LeftOut = WHOLE

    async def key(self) -> str:
        """Return the key of the token ids that are stored with the prompts."""

        def make() -> str:
            tools = self.rules.apply(self.tools).messages
            system_prompt = self.rules.stable_text(self.system_prompt)
            key = prompt_key(self.prompt_identity, system_prompt, "".join(each.content for each in tools))
            return key_without(key, self.beginning.left_out, self.beginning.summary)

        return await apart_if(self._is_long, make)

    async def prompt(
        self, path: Sequence[Message], new: Sequence[ChatMessage] = (), *, thinking: ThinkingMode | None = None
    ) -> Prompt:
        """Build the prompt for an answer to `new`, sent after `path` (root first), or to the last message of `path`.

        The prompt continues the last answer whose ids have the same key, and has the texts of all messages after it.

        Reasoning is not part of later prompts. After an answer with reasoning, the conversation is therefore rendered
        again without it. The prompt before that answer stays the same, and its KV is found again.

        thinking: one of the model's modes; None leaves it to the model.

        Raises:
            InvalidRequestError: the prompt is too long, or the template refuses the messages.
        """
        path = path[self.beginning.left_out :]
        key = await self.key()
        num_old = num_known(path, key)
        tokenised, since = path[:num_old], path[num_old:]
        said_since = [*await apart_if(len(since) >= MANY_MESSAGES, lambda: turns_of(since)), *new]
        num_new = len(said_since)
        stable = await self._stable(tokenised, said_since)
        ids = await apart_if(len(tokenised) >= MANY_MESSAGES, lambda: joined_ids(tokenised, key))
        if ids is not None and not num_new and thinking is None:
            return Prompt(ids, tokens_under(path[-1], key) or MessageTokens(), stable.lines)
        if ids is None or not num_new or tokenised[-1].role != "assistant" or self._was_thought(tokenised[-1]):
            return await self._rendered(stable, key, thinking)
        try:
            added = await to_ids(
                self.gate,
                self.engine,
                lambda: self.engine.chat_format.extend(ids, stable.messages, num_new=num_new, thinking=thinking),
                await size_apart(stable.messages[-num_new:]),
                param=self.param,
            )
        except PromptTooLongError:
            raise
        except InvalidRequestError:
            # Not every template can continue after every answer.
            return await self._rendered(stable, key, thinking)
        # The ids of a question that was answered under another key only are no part of a later prompt.
        is_split = any(tokens_under(message, key) is not None for message in since)
        tokens = self._tokens(ids + added if is_split else added, key, starts_prompt=is_split)
        return Prompt(ids + added, tokens, stable.lines)

    async def next_prefix(self, path: Sequence[Message]) -> list[int]:
        """Return the ids with which the next turn's prompt begins, whatever its question is.

        path: ends with an answer.
        """
        stable = await self._stable(path[self.beginning.left_out :])
        return await to_ids(
            self.gate,
            self.engine,
            lambda: self.engine.chat_format.next_prefix(stable.messages),
            await size_apart(stable.messages),
            param=self.param,
        )

    def messages(self, path: Sequence[Message]) -> list[ChatMessage]:
        """Return the messages of a prompt that has the whole path, as the template receives them."""
        return [*self.tools, *chat_messages(self.system_prompt, turns_of(path))]

    def _was_thought(self, answer: Message) -> bool:
        thinking = self.engine.chat_format.thinking
        return thinking is not None and thinking.is_in(unpack_ids(answer.tokens.ids))

    def _tokens(self, ids: Sequence[int], key: str, *, starts_prompt: bool) -> MessageTokens:
        return MessageTokens(pack_ids(ids), key, starts_prompt, self.engine.model_name)

    @property
    def _is_long(self) -> bool:
        return size_of(self.tools) + len(self.system_prompt or "") >= LONG_TEXT

    async def _stable(self, path: Sequence[Message], said_since: Sequence[ChatMessage] = ()) -> StableMessages:
        def make() -> StableMessages:
            system_prompt = with_summary(self.system_prompt, self.beginning.summary)
            turns = [*turns_of(path), *said_since]
            return self.rules.apply([*self.tools, *chat_messages(system_prompt, turns)])

        return await apart_if(self._is_long or len(path) + len(said_since) >= MANY_MESSAGES, make)

    async def _rendered(self, stable: StableMessages, key: str, thinking: ThinkingMode | None) -> Prompt:
        ids = await chat_ids(self.gate, self.engine, stable.messages, param=self.param, thinking=thinking)
        return Prompt(ids, self._tokens(ids, key, starts_prompt=True), stable.lines)


def chat_messages(system_prompt: str | None, turns: Sequence[ChatMessage]) -> list[ChatMessage]:
    """Build the messages for the template: the system prompt, if any, before the turns."""
    return [ChatMessage("system", system_prompt), *turns] if system_prompt else list(turns)


def turns_of(path: Sequence[Message]) -> list[ChatMessage]:
    """Convert stored messages for the template.

    A client sends an answer that calls tools as several items. They are joined: each call is added to the answer before
    it, and so is the answer's text that follows a call.
    """
    turns: list[ChatMessage] = []
    after_call = False
    for message in path:
        spoken, is_call = message.parsed, isinstance(message.tool_use, IsCall)
        is_rest = after_call and message.role == "assistant" and message.run_id is None
        after_call = is_call
        if (is_call or is_rest) and turns and turns[-1].role == "assistant":
            before = turns[-1]
            turns[-1] = replace(
                before, content=before.content + spoken.text, tool_calls=before.tool_calls + spoken.calls
            )
        else:
            is_result = isinstance(message.tool_use, IsResult)
            turns.append(ChatMessage("tool" if is_result else message.role, spoken.text, spoken.calls))
    return turns
