"""One answer of a remote engine, with everything that another replica needs to continue it."""

import time
from array import array
from collections.abc import Callable
from collections.abc import Set as AbstractSet
from dataclasses import replace
from math import inf
from typing import Final

from engine.api.errors import EbbError, OverloadedError, TimeoutPassedError
from engine.api.generate_request import GenerateRequest
from engine.api.outputs import FinishReason, KVReceipt, PromptProgress, RequestOutput, Usage
from engine.api.request_stream import RequestStream
from engine.api.sampling_params import SamplingParams
from engine.fleet.routing.router import Assignment
from engine.fleet.wire.messages import Begun, Output
from models.adapters.adapter import Adapter

MAX_FRUITLESS: Final = 2
"""Replicas that may die in a row while they admit an answer, or compute it before it gains a token.

The answer may be the cause.
"""

AHEAD: Final = SamplingParams(temperature=0.0, max_tokens=1)
"""Parameters of a request whose token is not needed."""

LAST_MOMENT: Final = 0.001
"""Seconds left for an answer whose timeout passed while its replica died. A replica that serves reports the timeout."""

RETRY_SECONDS: Final = 5
"""Seconds after which a request that no replica has computed in time may be tried again."""

TIMED_OUT: Final = "The request's timeout passed while no replica served."
QUEUE_TIMED_OUT: Final = "The request waited too long for its turn: no replica serves now. Try again later."

FRUITLESS = (
    f"{MAX_FRUITLESS} processes died in a row before this answer produced a token; see the server's log. "
    "Try again with a shorter or different request."
)


class LateError(Exception):
    """The time limit of an answer has passed while no replica computed it."""


class RemoteAnswer:
    """An answer that one replica at a time computes. Every method belongs to the event loop's thread.

    request_id: id in this process.
    assignment: charge of the replica that computes the answer; None while none does.
    is_aborted: the caller wants the answer to end.
    """

    def __init__(
        self,
        *,
        request_id: str,
        request: GenerateRequest,
        choice: int,
        abort: Callable[[str], None],
        on_end: Callable[[str], None],
        on_first: Callable[[Assignment, float], None] = lambda *_: None,
        on_moved: Callable[["RemoteAnswer"], None] = lambda _: None,
        queue_timeout: float = inf,
        adapter: Adapter | None = None,
    ) -> None:
        """Make the answer number `choice` to `request`.

        abort: called with the id when the reader of the stream does not want the answer any more.
        on_end: called with the id before the last output is delivered.
        on_first: called at the first token of a replica, with its assignment and the seconds since `route`.
        on_moved: called when the replica has handed the answer over, and another one should continue it.
        queue_timeout: seconds within which the answer must first have a place in a replica's batch.
        adapter: the adapter that its request names; None for the base model.
        """
        self.request_id = request_id
        self.is_aborted = False
        self.adapter = adapter
        self.assignment: Assignment | None = None
        self._request = request
        self._choice = choice
        self._abort = abort
        self._on_end = on_end
        self._on_first = on_first
        self._on_moved = on_moved
        self._queue_timeout = queue_timeout
        self._routed = 0.0
        self._arrived = time.monotonic()
        self._tokens = array("I", request.produced)
        self._stream: RequestStream | None = None
        self._has_ended = False
        self._num_read = 0
        self._is_placed = self._was_placed = False
        self._first_token: float | None = None
        self._num_before = len(self._tokens)
        self._fruitless = set[int]()
        self._lost_admissions = set[int]()
        self._usage_before: Usage | None = None

    @property
    def stream(self) -> RequestStream:
        """Stream of the answer, once a replica has accepted it."""
        assert self._stream is not None
        return self._stream

    @property
    def is_accepted(self) -> bool:
        """Whether a replica has ever accepted the answer."""
        return self._stream is not None

    @property
    def tenant(self) -> str:
        """Tenant of the request."""
        return self._request.tenant

    def route(self, assignment: Assignment) -> None:
        """Note that the answer is sent to the replica of `assignment`."""
        self.assignment, self._routed = assignment, time.monotonic()

    def accept(self, begun: Begun) -> None:
        """Make the stream, unless a former replica began it."""
        self._lost_admissions.clear()
        if self._stream is None:
            self._stream = RequestStream(
                self.request_id, begun.params, self._abort, begun.text_before, begun.reasoning_before
            )

    def place(self) -> None:
        """Note that the answer has its place in a replica's batch."""
        if not self._is_placed and self._choice == 0 and self._request.on_place is not None:
            self._request.on_place()
        self._is_placed = self._was_placed = True

    def take(self, output: Output) -> None:
        """Deliver an output of the replica that computes the answer.

        Raise ValueError unless the output follows the last one, so that no token is lost or doubled.
        """
        if output.at != len(self._tokens):
            raise ValueError(f"{self.request_id}: an output for token {output.at} came at token {len(self._tokens)}")
        self._tokens.extend(output.token_ids)
        if output.token_ids and self._first_token is None:
            self._first_token, self._was_placed = time.monotonic(), True
        if output.token_ids and self.assignment is not None and self.assignment.is_waiting:
            self._on_first(self.assignment, time.monotonic() - self._routed)
            self.assignment.started()
        end = output.end
        if end is not None and end.finish_reason == "moved":
            self._usage_before = self._usage_before or end.usage
            self.release()
            self._on_moved(self)
            return
        self._put(
            RequestOutput(
                request_id=self.request_id,
                text=output.text,
                token_ids=output.token_ids,
                finish_reason=end.finish_reason if end is not None else None,
                usage=self._whole_usage(end.usage) if end is not None else None,
                error=end.error if end is not None else None,
                retry_after=end.retry_after if end is not None else None,
                error_path=end.error_path if end is not None else None,
                stop_string=end.stop_string if end is not None else None,
                reasoning=output.reasoning,
                logprobs=output.logprobs,
                prompt_logprobs=output.prompt_logprobs,
                embedding=output.embedding,
                cached=output.cached,
                progress=self._news(output.progress),
            )
        )

    def _news(self, reports: tuple[PromptProgress, ...]) -> tuple[PromptProgress, ...]:
        """Return the reports that do not fall behind what another replica had reported before it was lost."""
        news = tuple(each for each in reports if each.done >= self._num_read)
        self._num_read = news[-1].done if news else self._num_read
        return news

    def _whole_usage(self, usage: Usage | None) -> Usage | None:
        """Return the usage of the whole answer: the prompt is that of the replica that handed the answer over."""
        before = self._usage_before
        if before is None or usage is None:
            return usage
        return replace(
            before,
            completion_tokens=usage.completion_tokens,
            reasoning_tokens=usage.reasoning_tokens,
            total_ms=(time.monotonic() - self._arrived) * 1e3,
        )

    def lose_admission(self, epoch: int) -> None:
        """Note that a replica was lost which had been asked to compute the answer, and had not accepted it."""
        self._lost_admissions.add(epoch)

    def lose_replica(self, epoch: int) -> None:
        """Note that the replica which computed the answer is gone."""
        if len(self._tokens) > self._num_before:
            self._fruitless.clear()
        elif self._is_placed:
            self._fruitless.add(epoch)
        self.leave_replica()

    def leave_replica(self) -> None:
        """Note that the answer was taken from its replica, which is drained."""
        self.release()
        self._num_before, self._is_placed = len(self._tokens), False

    def release(self, num_tokens: int | None = None) -> None:
        """Take the answer's charge off its replica.

        num_tokens: length of the answer; None if it has not ended.
        """
        if self.assignment is not None:
            self.assignment.ended(num_tokens)
            self.assignment = None

    @property
    def is_paused(self) -> bool:
        """Whether the reader waits for the first token of the replica that computes the answer now."""
        return not self._has_ended and len(self._tokens) == self._num_before

    def may_continue(self, serving: AbstractSet[int] = frozenset()) -> bool:
        """Return whether another replica should try the answer.

        serving: epochs that serve now. One that was lost before has lost only its connection, once or several times.
        """
        return max(len(self._fruitless - serving), len(self._lost_admissions - serving)) < MAX_FRUITLESS

    def continuation(self) -> GenerateRequest:
        """Return the request with which a replica begins the answer, or continues it from the last token received."""
        if self._stream is None:
            return self._request
        params, progress_every = self._stream.params, self._request.progress_every
        if len(self._tokens) > len(self._request.produced):
            # The outputs so far had them.
            params, progress_every = replace(params, prompt_logprobs=None), None
        elif self._choice:
            progress_every = None
        return replace(
            self._request,
            params=params,
            progress_every=progress_every,
            produced=tuple(self._tokens),
            num_answers=1,
        )

    def in_time(self, request: GenerateRequest) -> GenerateRequest:
        """Return `request`, which is for this answer, with the time that is left now as its timeout."""
        timeout = self._request.urgency.timeout
        if timeout is None:
            return request
        left = max(LAST_MOMENT, self._arrived + timeout - time.monotonic())
        return replace(request, urgency=replace(request.urgency, timeout=left))

    @property
    def _limit(self) -> tuple[float, FinishReason]:
        """Time on time.monotonic at which the answer ends unless a replica computes it, and the reason for the end."""
        timeout = self._request.urgency.timeout
        deadline = self._arrived + timeout if timeout is not None else inf
        start_by = self._arrived + self._queue_timeout if not self._was_placed else inf
        return (deadline, "timeout") if deadline <= start_by else (start_by, "queue_timeout")

    @property
    def seconds_left(self) -> float | None:
        """Seconds for which the answer may wait for a replica; None if it may wait forever."""
        at = self._limit[0]
        return max(0.0, at - time.monotonic()) if at < inf else None

    @property
    def lateness(self) -> EbbError:
        """Error for a request that no replica accepted in time."""
        if self._limit[1] == "timeout":
            return TimeoutPassedError(TIMED_OUT, param="timeout")
        return OverloadedError(QUEUE_TIMED_OUT, retry_after=RETRY_SECONDS, code="queue_timeout")

    def expire(self) -> None:
        """End an answer that no replica has continued in time."""
        if (reason := self._limit[1]) == "timeout":
            self._put(
                RequestOutput(
                    request_id=self.request_id, text="", token_ids=(), finish_reason=reason, usage=self._usage_so_far()
                )
            )
        else:
            error, retry_after = QUEUE_TIMED_OUT, RETRY_SECONDS
            self._put(
                RequestOutput(
                    request_id=self.request_id,
                    text="",
                    token_ids=(),
                    finish_reason=reason,
                    error=error,
                    retry_after=retry_after,
                )
            )

    def _usage_so_far(self) -> Usage:
        """Return the usage as far as the gateway knows it. The prompt counts as computed, and reasoning as text."""
        now, num_prompt = time.monotonic(), len(self._request.prompt_token_ids)
        first = self._first_token if self._first_token is not None else now
        usage = Usage(
            prompt_tokens=num_prompt,
            completion_tokens=len(self._tokens),
            kv=KVReceipt(computed=num_prompt + len(self._request.produced)),
            queue_ms=0.0,
            ttft_ms=(first - self._arrived) * 1e3,
            total_ms=(now - self._arrived) * 1e3,
            resumed_tokens=len(self._request.produced),
        )
        before = self._usage_before
        if before is None:
            return usage
        return replace(before, completion_tokens=usage.completion_tokens, total_ms=usage.total_ms)

    def context(self) -> GenerateRequest | None:
        """Return a request for one token after the answer so far, to compute the context; None if it is not kept."""
        if not self._request.keep_kv or not self._tokens:
            return None
        return GenerateRequest(
            prompt_token_ids=[*self._request.prompt_token_ids, *self._tokens],
            params=AHEAD,
            request_id=f"{self.request_id}-ahead",
            tenant=self._request.tenant,
            adapter=self._request.adapter,
            urgency=replace(self._request.urgency, timeout=None),
            is_stored=self._request.is_stored,
        )

    def abort_here(self) -> None:
        """End an answer that no replica computes as aborted."""
        self._put(RequestOutput(request_id=self.request_id, text="", token_ids=(), finish_reason="abort"))

    def fail(self, error: str) -> None:
        """End an answer that no replica computes with an error, in a sentence."""
        self._put(RequestOutput(request_id=self.request_id, text="", token_ids=(), finish_reason="error", error=error))

    def _put(self, output: RequestOutput) -> None:
        if self._has_ended:
            return
        self._has_ended = output.finished
        if output.finished:
            self.release(len(self._tokens))
            self._on_end(self.request_id)
        self.stream.put(output)
