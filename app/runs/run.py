"""A run: one generation, its log and its answer."""

import asyncio
from array import array
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Final

from app.domain.records import Message
from app.domain.token_history import pack_ids
from app.prompts.stateless import Remember
from app.prompts.volatile_lines import UNTREATED, TreatedLines
from app.runs.run_log import RunLog
from app.storage.run_records import RunProgress
from engine.api.errors import EbbError
from engine.api.outputs import RequestOutput, Reuse, TokenLogprobs

PROGRESS_SECONDS: Final = 0.5
"""Seconds before the first report of a prompt's progress, and between two. Shorter prompts have none."""


@dataclass(slots=True, eq=False, kw_only=True)
class Run:
    """One generation and its answer.

    answer: in progress until `ended` is set, then final, unless a stop of the server interrupted it. The store has
        the same, except for an end that it refused.
    token_ids: ids generated so far.
    abort: aborts the request; None while no engine works on the run.
    saved_ids, saved_deltas: number of ids and of log deltas that are stored.
    reuse: reuse of cached KV; set at the end.
    failure: the reason why there is no answer, or none on disk; None for a cancelled run. Set at the end.
    remember: called with the answer before its end is announced.
    cancelled: whether a client wants the run to end.
    is_kept: False for a run that has no row in the store.
    is_owned: False until the store names this server as the owner.
    kv_fingerprint: that of the engine that began the run.
    lines: volatile lines that were treated in the prompt; unknown for a run that another process began.
    epoch: number of times that another process resumed the run.
    is_lost: whether another server has taken the run over.
    logprobs: those of the ids generated so far, without a token that ended the answer, for the client that started the
        run. None if it does not want them, or has left.
    """

    id: str
    tenant: str
    answer: Message
    log: RunLog
    kv_fingerprint: str = ""
    token_ids: "array[int]" = field(default_factory=lambda: array("I"))
    abort: Callable[[], None] | None = None
    ended: asyncio.Event = field(default_factory=asyncio.Event)
    cancelled: bool = False
    saved_ids: int = 0
    saved_deltas: int = 0
    reuse: Reuse | None = None
    failure: EbbError | None = None
    remember: Remember | None = None
    is_kept: bool = True
    is_owned: bool = True
    lines: TreatedLines = UNTREATED
    epoch: int = 0
    is_lost: bool = False
    logprobs: list[TokenLogprobs] | None = None

    @property
    def answer_so_far(self) -> Message:
        """The answer with the text generated so far."""
        return (
            self.answer
            if self.ended.is_set()
            else replace(self.answer, content=self.log.text, reasoning=self.log.reasoning)
        )

    def on_output(self, output: RequestOutput) -> None:
        """Append the engine's output to the log."""
        for progress in output.progress:
            self.log.report(progress)
        self.token_ids.extend(output.token_ids)
        if self.logprobs is not None:
            self.logprobs.extend(output.said_logprobs)
        if output.reasoning:
            # Text in the same output took at least one more token.
            self.log.append(output.reasoning, len(self.token_ids) - bool(output.text), is_thought=True)
        if output.text:
            self.log.append(output.text, len(self.token_ids))

    def unsaved(self) -> RunProgress:
        """Return the progress that the store does not have yet."""
        ids = pack_ids(self.token_ids[self.saved_ids :])
        return RunProgress(self.id, self.saved_ids, ids, self.log.deltas_from(self.saved_deltas), self.epoch)
