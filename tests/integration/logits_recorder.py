"""Digests of every row of logits that an engine samples from, for bitwise comparison between engines."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field

import torch

from engine.api.generate_request import GenerateRequest
from engine.api.outputs import KVReceipt
from engine.api.sampling_params import SamplingParams
from engine.cpu.weights import PackedModel
from engine.llm import LLM
from engine.speculation.speculation import verify
from engine.worker.batch.input_batch import ScheduledRequest
from engine.worker.cache_engine import NO_MOVES, StepMoves
from engine.worker.native.native_step import Computed, NativeRunner, Started
from engine.worker.native.step_turns import StepTurns
from tests.native_rig import Threads


@dataclass
class LogitsRecorder:
    """Record of the logits that the latest runner has computed.

    Patch `runner` over the NativeRunner that the worker constructs.

    threads: the threads of the next runner.
    rows: digests by request id and position in the sequence. More than one digest means that recomputing the row gave
        a different result.
    recomputed: ids of requests that computed some of their tokens again.
    """

    threads: Threads = 2
    rows: dict[tuple[str, int], set[str]] = field(default_factory=dict)
    recomputed: set[str] = field(default_factory=set)
    _reached: dict[str, int] = field(default_factory=dict)

    def runner(
        self, model: PackedModel, kv_cache: torch.Tensor, *, threads: int, turns: StepTurns | None = None
    ) -> NativeRunner:
        """Create a native runner that copies all logits of a step, and clear the record."""
        for record in (self.rows, self.recomputed, self._reached):
            record.clear()
        return _RecordingRunner(self, model, kv_cache, threads=self.threads, turns=turns)

    def note(self, request: ScheduledRequest, tokens: list[int], logits: torch.Tensor) -> None:
        """Record the logits of a request's part of a step, except for rejected draft tokens.

        tokens: the sampled tokens. logits: [samples, vocab], one row for each of `tokens`.
        """
        if request.context_len < self._reached.get(request.request_id, 0):
            self.recomputed.add(request.request_id)
        end = request.context_len + len(request.token_ids)
        stand = verify(request.draft, tokens) if tokens else ()
        self._reached[request.request_id] = end - len(tokens) + len(stand)
        for at, row in enumerate(logits[: len(stand)]):
            digest = hashlib.sha256(row.numpy().tobytes()).hexdigest()
            self.rows.setdefault((request.request_id, end - len(tokens) + at + 1), set()).add(digest)


class _RecordingRunner(NativeRunner):
    def __init__(
        self,
        recorder: LogitsRecorder,
        model: PackedModel,
        kv_cache: torch.Tensor,
        *,
        threads: int,
        turns: StepTurns | None,
    ) -> None:
        super().__init__(model, kv_cache, threads=threads, turns=turns)
        self._recorder = recorder

    def start(
        self,
        scheduled: Sequence[ScheduledRequest],
        wanted: Sequence[int] = (),
        moves: StepMoves = NO_MOVES,
        inputs: torch.Tensor | None = None,
    ) -> Started:
        assert not wanted
        return super().start(scheduled, range(sum(len(request.sampling) for request in scheduled)), moves, inputs)

    def finish(self, started: Started) -> Computed:
        computed = super().finish(started)
        assert computed.tokens == computed.logits.argmax(dim=-1).tolist()
        first = 0
        for request in started.scheduled:
            end = first + len(request.sampling)
            self._recorder.note(request, computed.tokens[first:end], computed.logits[first:end])
            first = end
        return computed


@dataclass(frozen=True)
class Answer:
    """Tokens of an answer, and for each the digests of the logits that the token was sampled from."""

    token_ids: tuple[int, ...]
    logits: tuple[frozenset[str], ...]
    kv: KVReceipt
    recomputed: bool


def ask_together(llm: LLM, recorder: LogitsRecorder, prompts: Sequence[Sequence[int]], count: int) -> list[Answer]:
    """Generate `count` greedy tokens for each of the prompts, submitted together, and wait until the tiers are idle."""
    params = SamplingParams(temperature=0.0, max_tokens=count, ignore_eos=True)
    requests = [llm.engine.add_request(GenerateRequest(prompt_token_ids=prompt, params=params)) for prompt in prompts]
    while llm.engine.has_unfinished_requests() or not llm.engine.core.is_quiet:
        llm.engine.step()
    answers = []
    for request in requests:
        assert request.receipt is not None
        rows = [recorder.rows[request.request_id, request.num_prompt_tokens + at] for at in range(count)]
        answers.append(
            Answer(
                tuple(request.output_token_ids),
                tuple(frozenset(row) for row in rows),
                request.receipt,
                request.request_id in recorder.recomputed,
            )
        )
    return answers
