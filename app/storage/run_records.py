"""Values of a run as it is stored: its turn, its progress, its end, and the record needed to resume it."""

import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from app.domain.deltas import Delta
from app.domain.records import Conversation, Message, MessageStatus
from app.domain.response_record import ResponseRecord
from app.domain.sampling_json import params_of_ended
from app.domain.token_history import MessageTokens
from app.storage.versions import Versions


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRecord:
    """The inputs of a generation.

    Together with the answer's parameters, its tokens so far and the same model, they let another process continue the
    answer exactly as this one would have.

    kv_fingerprint: fingerprint of the engine that began the run.
    prompt_ids: packed.
    deadline: Unix seconds; None for no deadline.
    epoch: number of times that another process resumed the run.
    fruitless: consecutive processes that died while the run had a place in the batch and had produced no token.
    resumed_with: number of tokens when the run was resumed last; None if it never was.
    is_cancelled: whether a client of another server wants the run to end.
    """

    id: str
    message_id: str
    kv_fingerprint: str
    prompt_ids: bytes
    priority: int = 0
    deadline: float | None = None
    epoch: int = 0
    fruitless: int = 0
    resumed_with: int | None = None
    is_cancelled: bool = False


@dataclass(frozen=True, slots=True)
class RunProgress:
    """A piece of a run's output.

    first_token: number of tokens before the piece.
    token_ids: packed.
    epoch: as in `RunRecord`.
    """

    run_id: str
    first_token: int
    token_ids: bytes
    deltas: list[Delta]
    epoch: int = 0


@dataclass(frozen=True, slots=True)
class StoredLength:
    """Numbers of a run's tokens and deltas that the store has."""

    tokens: int
    deltas: int


@dataclass(frozen=True, slots=True, kw_only=True)
class UnfinishedRun:
    """A run that has not ended, with all that another process needs to follow or to resume it.

    question: the message that the answer follows.
    token_ids: packed.
    owner: the server that works on the run, or did so last; empty if that one left the run to the others.
    is_crashed: whether that server has a row among those of a shared database, so that it ended without notice.
    """

    tenant: str
    record: RunRecord
    conversation: Conversation
    question: Message
    answer: Message
    token_ids: bytes
    deltas: list[Delta]
    owner: str
    is_crashed: bool


@dataclass(frozen=True, slots=True)
class RunNews:
    """The stored output of a run after some of its tokens. `token_ids` are packed.

    is_next: whether the output continues after just these tokens. A crash of the database may have lost the pieces that
        the reader has seen, and the owner may have stored them again with other bounds.
    """

    epoch: int
    is_next: bool
    token_ids: bytes
    deltas: list[Delta]


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnRows:
    """The rows that a turn writes at its start.

    answer: the answer in progress.
    questions: new messages that the answer follows; empty if the question is stored already.
    restarted_user: id and new tokens of a question that is stored already.
    title: title for a conversation that has none yet.
    check_head: whether the conversation's head must still be `expected_head`.
    moves_head: whether the answer becomes the head.
    conversation: the conversation, if the turn creates it.
    response: the record, if the answer is a response.
    own_prompt: packed ids of the answer's prompt; None if they are those of its path.
    expected: versions of the conversation that the client has seen; None for any.
    """

    answer: Message
    run: RunRecord
    questions: tuple[Message, ...] = ()
    restarted_user: tuple[str, MessageTokens] | None = None
    title: str | None = None
    check_head: bool = False
    expected_head: str | None = None
    moves_head: bool = True
    conversation: Conversation | None = None
    response: ResponseRecord | None = None
    own_prompt: bytes | None = None
    expected: Versions = None


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageEnd:
    """The final state of an answer.

    token_ids: packed.
    """

    content: str
    status: MessageStatus
    finish_reason: str | None
    token_ids: bytes
    usage: Mapping[str, Any] | None = None
    error: Mapping[str, Any] | None = None
    reasoning: str | None = None

    def of(self, answer: Message) -> Message:
        """Return the final form of an answer that ends now."""
        return replace(
            answer,
            content=self.content,
            status=self.status,
            finish_reason=self.finish_reason,
            error=self.error,
            usage=self.usage,
            reasoning=self.reasoning,
            params=params_of_ended(answer.params),
            tokens=replace(answer.tokens, ids=self.token_ids),
            # The system's clock may have been set back since the answer began.
            completed_at=max(time.time(), answer.created_at),
        )
