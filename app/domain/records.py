"""Conversations and messages, as they are stored."""

import secrets
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

from app.domain.token_history import MessageTokens
from app.domain.tool_use import ToolUse, read_calls
from models.chat.tool_calls import Parsed


def new_ids(prefix: str, count: int) -> list[str]:
    """Make ids in ascending order. Messages of the same time are ordered by their ids."""
    return sorted(new_id(prefix) for _ in range(count))


def new_id(prefix: str) -> str:
    """Make an id such as "conv_" + 12 hex digits of Unix milliseconds + 20 random ones: sortable, not guessable."""
    return f"{prefix}_{time.time_ns() // 1_000_000:012x}{secrets.token_hex(10)}"


Role = Literal["system", "user", "assistant"]
MessageStatus = Literal["in_progress", "complete", "incomplete", "cancelled", "failed"]
TitleSource = Literal["first_message", "model", "user"]
Rating = Literal["good", "bad"]

ConversationSource = Literal["chat", "api", "response"]
"""Creator of a conversation: the page, a client of /v1/conversations, or a response that belongs to no conversation."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Conversation:
    """A tree of messages. Times are Unix seconds.

    title: None until there is one.
    head_id: leaf of the path that is shown; None for an empty conversation.
    metadata: key-value pairs that a client of the API attached.
    title_source: origin of the title; None without a title.
    version: see `app.storage.versions`.
    folder_id: None if the conversation is in no folder.
    temporary: whether it is in no list, no search and no export of all chats, and is removed a day after its last use.
    unread: whether an answer in it has ended that the person has not seen. Only chats of the page have such answers.
    """

    id: str
    title: str | None
    head_id: str | None
    system_prompt: str | None
    params: dict[str, Any]
    created_at: float
    updated_at: float
    source: ConversationSource = "chat"
    metadata: dict[str, str] = field(default_factory=dict)
    title_source: TitleSource | None = None
    pinned: bool = False
    archived: bool = False
    version: int = 1
    folder_id: str | None = None
    tags: tuple[str, ...] = ()
    temporary: bool = False
    unread: bool = False


@dataclass(frozen=True, kw_only=True)
class Message:
    """One node of the tree. Siblings are branches.

    parent_id: the message before this one; None for the first.
    reasoning: the model's reasoning before its answer; None if there is none.
    tokens: token ids that the engine saw, hidden from clients.
    other_tokens: token ids of a question under other prompt keys, where they were read with the message.
    tool_use: None if the message is text only.
    left_out: messages at the beginning of the path that the prompt lacks; None as in the question before. An answer
        repeats the number of its prompt, and has None for 0.
    summary: text that stands for them in the prompt; None without one, and in answers.
    rating: a person's opinion of the answer; None without one.
    rating_note: the person's reason; None without one.
    merged: number of other answers to the question that this answer merges; None if it merges none.
    """

    id: str
    conversation_id: str
    parent_id: str | None
    role: Role
    content: str
    status: MessageStatus
    created_at: float
    completed_at: float | None = None
    finish_reason: str | None = None
    error: Mapping[str, Any] | None = None
    usage: Mapping[str, Any] | None = None
    run_id: str | None = None
    params: dict[str, Any] | None = None
    reasoning: str | None = None
    tokens: MessageTokens = field(default_factory=MessageTokens)
    tool_use: ToolUse | None = None
    left_out: int | None = None
    summary: str | None = None
    rating: Rating | None = None
    rating_note: str | None = None
    merged: int | None = None
    other_tokens: tuple[MessageTokens, ...] = ()

    @property
    def token_lists(self) -> tuple[MessageTokens, ...]:
        """The token ids under all prompt keys."""
        return (self.tokens, *self.other_tokens)

    @property
    def model(self) -> str | None:
        """Name of the model or the adapter that wrote this answer; None of any other message, and where none is known.

        A chat continues with the model of its last answer.
        """
        if self.role != "assistant":
            return None
        return (self.params or {}).get("adapter") or self.tokens.model

    @property
    def is_prompt_alone(self) -> bool:
        """Whether this is the answer, without any text, to a prompt that was only to be computed."""
        return self.params is not None and self.params.get("max_tokens") == 0

    @cached_property
    def parsed(self) -> Parsed:
        """Texts and tool calls parsed from the content, without an end that could still become either.

        Parsing a long answer with calls takes a noticeable time, so it happens once, off the event loop: where a row is
        read, or by the API that shows the answer of a run.
        """
        has_ended, is_cut = self.status != "in_progress", self.status != "complete"
        return read_calls(self.content, self.tool_use, has_ended=has_ended, is_cut=is_cut)


def last_model(path: Sequence[Message]) -> str | None:
    """Return the name of the model of a path's last answer with a known one; None if none is known."""
    return next((model for message in reversed(path) if (model := message.model) is not None), None)
