"""A worker that holds token ids instead of bytes, so that a mix-up of blocks is detected at once."""

import hashlib
import random
from collections.abc import Sequence
from dataclasses import dataclass, replace

from cache_tiers.transfer import Direction, TransferJob, TransferResult
from engine.api.sampling_params import SamplingParams
from engine.offload.prefill_cost import PrefillCost
from engine.request.request import Request
from engine.request.scheduler_output import DraftWork, ModelRunnerOutput, SchedulerOutput
from engine.speculation.guess import Guess
from engine.speculation.speculation import verify
from tests.model.toy_store import Slots


def next_token(token_ids: Sequence[int], vocab: int, mask: bytes | None = None, choice: int = 0) -> int:
    """Compute the toy model's next token, a function of the whole context and of the answer's number.

    mask: allowed tokens as in a SchedulerOutput; None allows all.
    choice: the answer's number among the answers to its prompt.
    """
    digest = hashlib.sha256(repr((choice, *token_ids)).encode()).digest()
    words = int.from_bytes(mask, "little") if mask is not None else -1
    allowed = [token for token in range(vocab) if words >> token & 1]
    return allowed[int.from_bytes(digest[:4], "little") % len(allowed)]


class ToyMask:
    """TokenMask that alternates between even and odd ids, starting with an even one."""

    def __init__(self) -> None:
        self._wants_odd = False

    def accept(self, token_id: int) -> None:
        assert token_id % 2 == self._wants_odd, "the mask received a disallowed token, or missed one"
        self._wants_odd = not self._wants_odd

    def begin(self) -> None:
        pass

    def words(self) -> bytes:
        return (b"\xaa" if self._wants_odd else b"\x55") * 8

    def verdict(self, text: str) -> None:
        return None

    def forced(self) -> tuple[int, ...]:
        return ()

    is_asleep = False
    is_ready = True
    failure: str | None = None


class SleepingToyMask(ToyMask):
    """TokenMask that sleeps until a multiple of three: 0 forces 4 and 5, another one demands an even and an odd id."""

    def __init__(self) -> None:
        super().__init__()
        self._due: list[bytes] = []
        self._forced: list[int] = []

    @property
    def is_asleep(self) -> bool:  # type: ignore[override]
        return not self._due

    def accept(self, token_id: int) -> None:
        if self._due:
            assert self._due.pop(0)[0] >> token_id & 1, "the mask received a disallowed token, or missed one"
            self._forced = self._forced[1:]
        elif token_id % 3 == 0:
            self._forced = [] if token_id else [4, 5]
            self._due = [b"\x55", b"\xaa"] if token_id else [b"\x10", b"\x20"]

    def words(self) -> bytes:
        assert self._due, "the mask is asleep"
        return self._due[0]

    def forced(self) -> tuple[int, ...]:
        return tuple(self._forced)


def expected_output(
    prompt: Sequence[int], sampling: SamplingParams, vocab: int, mask: ToyMask | None = None
) -> list[int]:
    """Compute the toy model's answer without a cache, batching or preemption.

    mask: a fresh mask, which is advanced; None allows all tokens.
    """
    tokens, produced = list(prompt), list[int]()
    while sampling.max_tokens is None or len(produced) < sampling.max_tokens:
        words = mask.words() if mask is not None and not mask.is_asleep else None
        produced.append(next_token(tokens, vocab, words, sampling.choice))
        if mask is not None:
            mask.accept(produced[-1])
        tokens.append(produced[-1])
        if produced[-1] in sampling.ending_ids and len(produced) > sampling.min_tokens:
            break
    return produced


@dataclass
class _Known:
    token_ids: list[int]
    blocks: list[int]
    choice: int


class ToyWorker:
    """Worker that follows every SchedulerOutput literally, and raises if a request attends to KV that is not its own.

    A late copy moves its bytes when it ends. Until then the target of a load holds nothing.

    late: chooses the copies that end with a step that has tokens; None ends all of them.
    pending: copies in flight.
    owed: results that no output has reported.
    has_no_drafter: whether its draft model has failed.
    drafter_period: one guess in `drafter_period` is wrong.
    refused: ids of the requests of each step that was refused, until its failure is known, by the step's number. The
        steps behind it may attend to anything: their results for these and for misled requests are wrong.
    """

    def __init__(self, block_size: int, vocab: int, host: dict[int, Slots], late: random.Random | None = None) -> None:
        self.late = late
        self.pending: list[TransferJob] = []
        self.owed: list[TransferResult] = []
        self.has_no_drafter = False
        self.drafter_period = 3
        self.refused: dict[int, frozenset[str]] = {}
        self._told: tuple[SchedulerOutput, list[TransferResult]] | None = None
        self.block_size = block_size
        self.vocab = vocab
        self.device: dict[int, Slots] = {}
        self.host = host
        self.requests: dict[str, _Known] = {}

    def execute(self, output: SchedulerOutput) -> ModelRunnerOutput:
        computed, given = self._take_in(output), output
        output, work = self._with_drafts(output)
        # Copies may run in any order, because none reads a block that another one writes.
        self.device |= {copy.target_id: list(self.device[copy.source_id]) for copy in output.copies}
        for job in output.loads:
            self.device[job.block_id] = [None] * self.block_size
        self._copy(output.loads, output)
        sampled: dict[str, tuple[int, ...]] = {}
        refused = frozenset[str]().union(*self.refused.values())
        for number in range(output.passes):
            for request_id, count in output.num_scheduled_tokens.items():
                if request_id in refused:
                    continue
                mask, draft = output.masks.get(request_id), output.drafts.get(request_id, ())
                tokens = self._forward(self.requests[request_id], computed[request_id] + number, count, mask, draft)
                if tokens:
                    sampled[request_id] = (*sampled.get(request_id, ()), *tokens)
        self._copy(output.stores, output)
        results, self.owed = self.owed, []
        self._told = given, results
        return ModelRunnerOutput(
            step_id=output.step_id, sampled_token_ids=sampled, transfers=tuple(results), draft_work=work
        )

    def _with_drafts(self, output: SchedulerOutput) -> tuple[SchedulerOutput, DraftWork | None]:
        """Draft as a model would that gets one token in `drafter_period` wrong, and has to read more now and then."""
        if not output.to_draft or self.has_no_drafter:
            return replace(output, to_draft={}), None
        drafts: dict[str, tuple[int, ...]] = {}
        for request_id, most in output.to_draft.items():
            known = self.requests[request_id]
            text = list(known.token_ids)
            for _ in range(most if len(text) % 5 else 0):
                text.append(
                    (next_token(text, self.vocab, None, known.choice) + (not len(text) % self.drafter_period))
                    % self.vocab
                )
            if made := tuple(text[len(known.token_ids) :]):
                drafts[request_id] = made
        counts = {name: count + len(drafts.get(name, ())) for name, count in output.num_scheduled_tokens.items()}
        numbers = {name: len(drafts.get(name, ())) for name in output.to_draft}
        output = replace(output, num_scheduled_tokens=counts, drafts={**output.drafts, **drafts}, to_draft={})
        return output, DraftWork(num_drafted=numbers, passes=1, rows=1, seconds=0.0)

    def refuse(self, output: SchedulerOutput) -> None:
        """Know the requests of a step, then raise before anything is moved or computed."""
        self._take_in(output)
        self.refused[output.step_id] = frozenset(output.num_scheduled_tokens)
        self._owe_results(output)

    def _take_in(self, output: SchedulerOutput) -> dict[str, int]:
        """Drop and add requests, and return the number of computed tokens of those in the step."""
        for request_id in output.dropped_request_ids:
            self.requests.pop(request_id, None)
        computed: dict[str, int] = {}
        for new in output.new_requests:
            assert new.request_id not in self.requests
            self.requests[new.request_id] = _Known(list(new.token_ids), list(new.block_ids), new.sampling.choice)
            computed[new.request_id] = new.num_computed_tokens
        for cached in output.cached_requests:
            self.requests[cached.request_id].blocks += cached.new_block_ids
            self.requests[cached.request_id].token_ids += cached.new_token_ids
            computed[cached.request_id] = cached.num_computed_tokens
        return computed

    def fail(self, output: SchedulerOutput) -> None:
        """Owe the results of a step that raised, whether or not it was executed.

        A step without tokens ends all copies and owes nothing. Requests leave the batch before anything can raise.
        """
        for request_id in output.dropped_request_ids:
            self.requests.pop(request_id, None)
        self._owe_results(output)

    def _owe_results(self, output: SchedulerOutput) -> None:
        if self._told is not None and self._told[0] is output:
            self.owed += self._told[1]
        known = {job.job_id for job in self.pending} | {result.job_id for result in self.owed}
        failed = [job for job in (*output.loads, *output.stores) if job.job_id not in known]
        self.owed += [TransferResult(job.job_id, 0.0, "the step failed") for job in failed]
        if not output.num_scheduled_tokens:
            self._copy((), output)
            self.owed.clear()

    def _copy(self, jobs: Sequence[TransferJob], output: SchedulerOutput) -> None:
        """Start `jobs` and end some of the copies in flight. A step without tokens ends all of them."""
        self.pending += jobs
        for job in list(self.pending):
            if self.late is None or not output.num_scheduled_tokens or self.late.random() < 0.3:
                self.pending.remove(job)
                self._move(job)
                self.owed.append(TransferResult(job.job_id, 0.0))

    def _move(self, job: TransferJob) -> None:
        if job.direction is Direction.LOAD:
            self.device[job.block_id] = list(self.host[job.host_offset])
        else:
            self.host[job.host_offset] = list(self.device[job.block_id])

    def _forward(
        self, request: _Known, start: int, count: int, mask: bytes | None, draft: Sequence[int]
    ) -> Sequence[int]:
        size = self.block_size
        known, end = len(request.token_ids), start + count
        assert end <= known + len(draft), "scheduled beyond the known tokens"
        assert not draft or end == known + len(draft), "the draft does not follow the known tokens"
        text = [*request.token_ids, *draft]
        for position in range(start, end):
            block = self.device.setdefault(request.blocks[position // size], [None] * size)
            block[position % size] = text[position]
        seen = [self.device.get(request.blocks[p // size], [None] * size)[p % size] for p in range(end)]
        misled = seen != text[:end]
        assert self.refused or not misled, "a request attended to the KV of another one"
        if end < known:
            return ()
        choice = request.choice if not misled else -1
        stand = verify(draft, [next_token(text[:to], self.vocab, mask, choice) for to in range(known, end + 1)])
        request.token_ids += stand
        return stand


@dataclass
class HalfRight:
    """Proposer that predicts the toy model and is wrong at regular intervals.

    period: one token in `period` is wrong.
    is_silent: propose nothing, with a chance of 0.
    """

    vocab: int
    period: int = 3
    is_silent: bool = False

    def propose(self, request: Request, behind: int, most: int) -> Guess:
        text = list(request.token_ids(0, request.num_tokens))
        for _ in range(behind + most):
            wrong = not len(text) % self.period
            text.append((next_token(text, self.vocab, None, request.sampling.choice) + wrong) % self.vocab)
        return Guess((), 0.0, "prompt") if self.is_silent else Guess(text[request.num_tokens + behind :], 0.9, "prompt")


class BelievedCost(PrefillCost):
    """PrefillCost set by the test, because the real one learns nothing from steps without duration.

    token_seconds: seconds to compute a token; None while unknown.
    """

    token_seconds: float | None = None

    def seconds(self, start: int, stop: int) -> float | None:
        return None if self.token_seconds is None else self.token_seconds * (stop - start)
