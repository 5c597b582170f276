"""Conversion of scheduler updates to RequestOutputs: final text, stop strings, and the receipt at the end."""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace

from cache_tiers.tier import CPU
from engine.api.outputs import FinishReason, KVReceipt, RequestOutput, Usage
from engine.request.request import Request
from engine.scheduling.results import TokenUpdate, reason_to_end
from engine.text.answer_text import AnswerFormat, AnswerText, EmittedText
from engine.text.detokenizer import StopStrings


@dataclass(slots=True, kw_only=True)
class _Progress:
    request: Request
    answer: AnswerText
    stop: StopStrings
    first_token: float | None = None
    num_tokens: int = 0
    num_resumed: int = 0
    text_before: str = ""
    reasoning_before: str = ""
    stop_string: str | None = None
    formed: list[str] | None = None
    """Text so far of an answer with a form."""


class OutputProcessor:
    """Text states of all unfinished requests. `clock` is the scheduler's."""

    def __init__(self, answers: AnswerFormat, *, clock: Callable[[], float], block_nbytes: int) -> None:
        self._answers = answers
        self._block_nbytes = block_nbytes
        self.clock = clock
        self._progress: dict[str, _Progress] = {}

    def add_request(self, request: Request) -> None:
        """Start processing a request's updates. Text of tokens that it already has is not emitted again."""
        sampling = request.sampling
        progress = _Progress(
            request=request,
            answer=self._answers.begin(
                request.text_token_ids,
                skip_special=sampling.skip_special_tokens,
                may_call=sampling.form is None,
                breaks_marks=sampling.is_read_for_calls,
                stop=sampling.stop,
            ),
            stop=StopStrings(sampling.stop, include=sampling.include_stop_str_in_output),
        )
        self._progress[request.request_id] = progress
        progress.formed = [] if sampling.form is not None else None
        progress.num_resumed = len(request.output_token_ids)
        for token_id in request.output_token_ids:
            progress.num_tokens += 1
            is_stop_token = token_id in sampling.ending_ids
            emitted, progress.stop_string = self._advance(progress, token_id, is_stop_token=is_stop_token)
            if emitted.is_thought:
                progress.reasoning_before += emitted.text
            else:
                progress.text_before += emitted.text

    def get(self, request_id: str) -> Request | None:
        """Return the request, or None if it has ended."""
        progress = self._progress.get(request_id)
        return progress.request if progress is not None else None

    @property
    def has_unfinished(self) -> bool:
        """Whether any request has not ended."""
        return bool(self._progress)

    def unfinished(self) -> list[tuple[Request, int]]:
        """List the unfinished requests in order of arrival, each with the number of its processed tokens."""
        return [(progress.request, progress.num_tokens) for progress in self._progress.values()]

    def renew(self, request: Request) -> None:
        """Replace the request with the same id by `request`, and keep its text state."""
        self._progress[request.request_id].request = request

    def forget(self, request: Request) -> None:
        """Drop the text state of a request that was refused."""
        self._progress.pop(request.request_id, None)

    def text_before(self, request: Request) -> str:
        """Return the final text of the tokens that the request was added with."""
        return self._progress[request.request_id].text_before

    def reasoning_before(self, request: Request) -> str:
        """Return the reasoning of the tokens that the request was added with."""
        return self._progress[request.request_id].reasoning_before

    def end_if_complete(self, request: Request) -> RequestOutput | None:
        """Return the last output, without text, of a request whose initial tokens already end it; else None."""
        progress = self._progress[request.request_id]
        if not progress.num_tokens:
            return None
        stop_string = progress.stop_string
        reason = "stop" if stop_string is not None else reason_to_end(request, request.output_token_ids[-1])
        if reason is None:
            return None
        return self._finished(progress, EmittedText(), (), reason, cut=True, stop_string=stop_string)

    def process(self, update: TokenUpdate) -> tuple[RequestOutput | None, bool]:
        """Process one update. Return its output, and True if a stop string ended the request here.

        In that case the scheduler must end the request too. A token computed after a stop string has no output.
        """
        request, token_id = update.request, update.token_id
        progress = self._progress.get(request.request_id)
        if progress is None:
            return None, False
        if token_id is None:
            ended = self._finished(progress, EmittedText(), (), update.finish_reason or "abort")
            return replace(ended, embedding=update.embedding), False
        is_first = progress.first_token is None
        output, stopped = self._process_token(progress, token_id, update.finish_reason)
        if progress.formed is not None:
            progress.formed.append(output.text)
        if update.logprobs is not None:
            output = replace(output, logprobs=(update.logprobs,))
        if is_first:
            cached = request.receipt.cached if request.receipt is not None else 0
            output = replace(output, prompt_logprobs=tuple(request.prompt_logprobs), cached=cached)
        return output, stopped

    def _process_token(
        self, progress: _Progress, token_id: int, finish_reason: FinishReason | None
    ) -> tuple[RequestOutput, bool]:
        request = progress.request
        if progress.first_token is None:
            progress.first_token = self.clock()
            request.timeline.end(progress.first_token)
        progress.num_tokens += 1
        ended_by_token = finish_reason == "stop"
        emitted, stop_string = self._advance(progress, token_id, is_stop_token=ended_by_token)
        if stop_string is not None:
            ended = self._finished(progress, emitted, (token_id,), "stop", cut=True, stop_string=stop_string)
            return ended, finish_reason is None
        if finish_reason is not None:
            # The engine that continues the answer holds the same text back.
            return self._finished(progress, emitted, (token_id,), finish_reason, cut=finish_reason == "moved"), False
        return _output(request.request_id, emitted, (token_id,)), False

    def finish(self, request: Request, reason: FinishReason, error: str | None = None) -> RequestOutput | None:
        """Make the last output of a request that ended outside of a step; None if it had already ended."""
        progress = self._progress.get(request.request_id)
        return None if progress is None else self._finished(progress, EmittedText(), (), reason, error=error)

    def _advance(self, progress: _Progress, token_id: int, *, is_stop_token: bool) -> tuple[EmittedText, str | None]:
        is_left_out = is_stop_token and not progress.request.sampling.include_stop_str_in_output
        emitted = EmittedText() if is_left_out else progress.answer.push(token_id)
        # Stop strings end the answer. Reasoning may mention them.
        if emitted.is_thought:
            return emitted, None
        if progress.num_tokens <= progress.request.sampling.min_tokens:
            return EmittedText(progress.stop.flush() + emitted.text), None
        text, stop_string = progress.stop.push(emitted.text)
        return EmittedText(text), stop_string

    def _finished(
        self,
        progress: _Progress,
        emitted: EmittedText,
        token_ids: tuple[int, ...],
        reason: FinishReason,
        *,
        cut: bool = False,
        stop_string: str | None = None,
        error: str | None = None,
    ) -> RequestOutput:
        request, error_path = progress.request, None
        if reason == "stop" and request.mask is not None and (failure := request.mask.failure) is not None:
            form = request.sampling.form
            reason, error_path = "error", form.path if form is not None else ""
            error = f"The answer could not be constrained to its form: {failure}"
        del self._progress[request.request_id]
        output = _output(request.request_id, emitted, token_ids)
        rest, late_stop = (EmittedText(), None) if cut else self._rest(progress)
        if late_stop is not None and reason == "length":
            reason, stop_string = "stop", late_stop
        text = output.text if rest.is_thought else output.text + rest.text
        usage = self._usage(progress)
        is_whole = reason == "stop" and stop_string is None
        if is_whole and request.mask is not None and progress.formed is not None:
            verdict = request.mask.verdict("".join((progress.text_before, *progress.formed, text)))
            usage = replace(usage, kv=replace(usage.kv, form=verdict))
        return replace(
            output,
            text=text,
            reasoning=output.reasoning + rest.text if rest.is_thought else output.reasoning,
            finish_reason=reason,
            usage=usage,
            error=error,
            error_path=error_path,
            stop_string=stop_string,
        )

    def _rest(self, progress: _Progress) -> tuple[EmittedText, str | None]:
        """Return the text that was held back, at the end of an answer, and the stop string that ends it."""
        rest = progress.answer.finish()
        if rest.is_thought:
            return rest, None
        text, stop_string = progress.stop.push(rest.text)
        return EmittedText(text if stop_string is not None else text + progress.stop.flush()), stop_string

    def fail(self, request: Request, error: str) -> RequestOutput:
        """End a request whose own state may be the defect. The last output has neither text nor usage."""
        self._progress.pop(request.request_id, None)
        return RequestOutput(request_id=request.request_id, text="", token_ids=(), finish_reason="error", error=error)

    def _usage(self, progress: _Progress) -> Usage:
        request, now = progress.request, self.clock()
        started = request.started if request.started is not None else now
        first = progress.first_token if progress.first_token is not None else now
        request.timeline.end(first)
        return Usage(
            prompt_tokens=request.num_prompt_tokens,
            completion_tokens=progress.num_tokens,
            resumed_tokens=progress.num_resumed,
            reasoning_tokens=progress.answer.num_thought,
            kv=self._receipt(request),
            queue_ms=(started - request.arrival) * 1e3,
            ttft_ms=(first - request.arrival) * 1e3,
            total_ms=(now - request.arrival) * 1e3,
            reuse=request.reuse,
        )

    def _receipt(self, request: Request) -> KVReceipt:
        phases = request.timeline.phases()
        reused = request.reuse_seconds
        return replace(
            request.receipt or KVReceipt(computed=request.num_prompt_tokens),
            loaded_bytes=Counter({tier: num * self._block_nbytes for tier, num in request.loaded_blocks.items()}),
            blocks_verified=request.loaded_blocks.total() - request.loaded_blocks[CPU.id],
            phases=phases,
            saved_ms=reused * 1e3 - phases.lookup - phases.load if reused is not None else None,
        )


def _output(request_id: str, emitted: EmittedText, token_ids: tuple[int, ...]) -> RequestOutput:
    if emitted.is_thought:
        return RequestOutput(request_id=request_id, text="", token_ids=token_ids, reasoning=emitted.text)
    return RequestOutput(request_id=request_id, text=emitted.text, token_ids=token_ids)
