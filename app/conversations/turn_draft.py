"""A turn between the prompt and its acceptance by the engine and the store."""

import time
from dataclasses import dataclass, replace

from app.domain.records import Conversation, Message, new_id
from app.domain.response_record import ResponseRecord
from app.domain.sampling_json import params_to_json
from app.domain.titles import title_from
from app.domain.token_history import pack_ids, tokens_under
from app.domain.tool_use import ToolUse
from app.prompts.stateless import Remember
from app.prompts.turn_prompt import Prompt
from app.runs.run import PROGRESS_SECONDS
from app.storage.run_records import RunRecord, TurnRows
from app.storage.versions import Versions
from app.tenants.wanted_promise import WantedPromise
from engine.api.sampling_params import SamplingParams
from engine.api.urgency import Urgency
from models.thinking import ThinkingMode


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnDraft:
    """A turn that the engine has not accepted yet. Fields that are not listed here are as in `TurnRows`.

    question: the message before the answer.
    new: messages that are not stored yet. `question` is the last of them; empty if it is stored.
    is_kept: False stores nothing.
    thinking: the mode that the client chose; None leaves it to the model.
    answer_id: the id that the client chose for the answer; None draws one.
    system_prompt: in place of the conversation's, empty for none; None for the conversation's.
    has_own_prompt: whether the ids of the prompt are not those of the path.
    remember: as in `Run`.
    tool_use: the tools that the answer may call; None without tools.
    is_marked: whether the client marked the prompt for caching.
    wanted_promise: the beginning of the prompt whose KV the client wants to be kept; None for none.
    left_out: messages at the beginning of the conversation that the prompt lacks.
    merged: answers that the new one merges.
    progress_every, adapter: as in `GenerateRequest`.
    """

    conversation: Conversation
    question: Message
    prompt: Prompt
    sampling: SamplingParams
    urgency: Urgency
    new: tuple[Message, ...] = ()
    check_head: bool = False
    moves_head: bool = True
    thinking: ThinkingMode | None = None
    is_kept: bool = True
    makes_conversation: bool = False
    response: ResponseRecord | None = None
    answer_id: str | None = None
    expected: Versions = None
    system_prompt: str | None = None
    has_own_prompt: bool = False
    remember: Remember | None = None
    tool_use: ToolUse | None = None
    is_marked: bool = False
    wanted_promise: WantedPromise | None = None
    left_out: int = 0
    merged: int = 0
    progress_every: float | None = PROGRESS_SECONDS
    adapter: str = ""

    def answer(self, run_id: str, params: SamplingParams) -> Message:
        """Make the answer in progress. `params` are the parameters that the engine resolved."""
        chosen = {"thinking": self.thinking, "system_prompt": self.system_prompt, "adapter": self.adapter or None}
        return Message(
            id=self.answer_id or new_id("msg"),
            conversation_id=self.conversation.id,
            parent_id=self.question.id,
            role="assistant",
            content="",
            status="in_progress",
            created_at=time.time(),
            run_id=run_id,
            params=params_to_json(params) | {name: value for name, value in chosen.items() if value is not None},
            tokens=replace(self.prompt.tokens, ids=b"", starts_prompt=False),
            tool_use=self.tool_use,
            left_out=self.left_out or None,
            merged=self.merged or None,
        )

    def stored_turn(self, answer: Message, kv_fingerprint: str) -> TurnRows:
        """Make the record of this turn for the store."""
        assert answer.run_id is not None
        known = tokens_under(self.question, self.prompt.tokens.prompt_key)
        rendered_again = not self.new and self.prompt.tokens != known
        timeout = self.urgency.timeout
        return TurnRows(
            answer=answer,
            run=RunRecord(
                id=answer.run_id,
                message_id=answer.id,
                kv_fingerprint=kv_fingerprint,
                prompt_ids=pack_ids(self.prompt.ids),
                priority=self.urgency.priority,
                deadline=answer.created_at + timeout if timeout is not None else None,
            ),
            questions=self.new,
            restarted_user=(self.question.id, self.prompt.tokens) if rendered_again else None,
            title=title_from(self.question.content) if self.conversation.source == "chat" else None,
            check_head=self.check_head,
            expected=self.expected,
            expected_head=self.conversation.head_id,
            moves_head=self.moves_head,
            conversation=self.conversation if self.makes_conversation else None,
            response=self.response,
            own_prompt=pack_ids(self.prompt.ids) if self.has_own_prompt else None,
        )
