"""Results of forward passes, and the output of a step that is assembled from them."""

import itertools
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

import torch

from cache_tiers.transfer import TransferResult
from engine.api.outputs import TokenLogprobs
from engine.request.scheduler_output import ModelRunnerOutput, PromptLogprobs, SchedulerOutput
from engine.sampling.logprobs import token_logprobs
from engine.worker.batch.input_batch import ScheduledRequest


@dataclass(frozen=True, slots=True)
class StepLogprobs:
    """Log probabilities by request id, for the requests that ask for them.

    sampled: of the sampled token.
    prompts: of a chunk of the prompt.
    """

    sampled: Mapping[str, TokenLogprobs] = field(default_factory=dict)
    prompts: Mapping[str, PromptLogprobs] = field(default_factory=dict)


NO_LOGPROBS: Final = StepLogprobs()


@dataclass(frozen=True, slots=True)
class ForwardPass:
    """Result of one forward pass.

    sampled: tokens by request id: one token, or the accepted tokens of a draft and the token after them.
    started, ended: times around the model and the sampler only, on time.perf_counter.
    embeddings: by id of a request whose prompt ended in this pass, if it asks for one.
    """

    sampled: dict[str, tuple[int, ...]]
    started: float
    ended: float
    logprobs: StepLogprobs = NO_LOGPROBS
    embeddings: Mapping[str, bytes] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ScoredRows:
    """The rows of logits whose log probabilities a pass reports: the sampling rows that want them, then prompts' rows.

    names: request ids of the sampling rows that want them.
    sampled: indices of these rows among all sampling rows.
    chunks: the requests with `prompt_targets`.
    tops: numbers of likeliest tokens to report, one per row.
    """

    names: Sequence[str]
    sampled: Sequence[int]
    chunks: Sequence[ScheduledRequest]
    tops: Sequence[int]

    @classmethod
    def of(cls, scheduled: Sequence[ScheduledRequest]) -> "ScoredRows":
        """Select the rows of a pass."""
        rows = [(each.request_id, row) for each in scheduled for row in each.sampling]
        own = [(name, at, row.num_logprobs) for at, (name, row) in enumerate(rows) if row.num_logprobs is not None]
        chunks = [each for each in scheduled if each.prompt_targets]
        tops = [count for _, _, count in own]
        tops += [each.num_prompt_logprobs for each in chunks for _ in each.prompt_targets]
        return cls([name for name, _, _ in own], [at for _, at, _ in own], chunks, tops)

    @property
    def targets(self) -> list[int]:
        """The prompt tokens whose log probabilities are reported."""
        return [token for each in self.chunks for token in each.prompt_targets]

    def token_ids(self, tokens: Sequence[int]) -> list[int]:
        """Return the token of each row. `tokens`: sampled tokens, one per sampling row."""
        return [tokens[at] for at in self.sampled] + self.targets

    def by_request(self, found: Iterable[TokenLogprobs]) -> StepLogprobs:
        """Return the log probabilities of the rows by request."""
        left = iter(found)
        sampled = {name: next(left) for name in self.names}
        prompts = {
            each.request_id: PromptLogprobs(each.context_len, tuple(itertools.islice(left, len(each.prompt_targets))))
            for each in self.chunks
        }
        return StepLogprobs(sampled, prompts)


def step_logprobs(scheduled: Sequence[ScheduledRequest], tokens: Sequence[int], logits: torch.Tensor) -> StepLogprobs:
    """Compute the log probabilities of a pass.

    tokens: sampled tokens, one per sampling row.
    logits: float32, unadjusted, of the rows of `ScoredRows`.
    """
    rows = ScoredRows.of(scheduled)
    return rows.by_request(token_logprobs(logits, rows.token_ids(tokens), rows.tops))


def embeddings_of(scheduled: Sequence[ScheduledRequest]) -> dict[str, bytes]:
    """Return the embeddings that a pass completed, once its hidden states have been added."""
    return {each.request_id: value for each in scheduled if (value := each.embedding) is not None}


def step_output(
    step: SchedulerOutput,
    passes: Sequence[ForwardPass],
    transfers: tuple[TransferResult, ...],
    *,
    received: float,
    prepared: float,
) -> ModelRunnerOutput:
    """Build the output of a step that ends now.

    passes: all forward passes of the step; empty if the step only moved blocks.
    received, prepared: times at which the step arrived and was ready to compute, on time.perf_counter.
    """
    names = passes[0].sampled if passes else ()
    sampled = {name: tuple([token for each in passes for token in each.sampled[name]]) for name in names}
    return ModelRunnerOutput(
        step_id=step.step_id,
        sampled_token_ids=sampled,
        transfers=transfers,
        started=passes[0].started if passes else 0.0,
        ended=passes[-1].ended if passes else 0.0,
        received=received,
        prepared=prepared,
        sent=time.perf_counter(),
        logprobs={
            name: tuple([each.logprobs.sampled[name] for each in passes])
            for name in (passes[0].logprobs.sampled if passes else ())
        },
        prompt_logprobs=passes[0].logprobs.prompts if passes else {},
        embeddings=passes[0].embeddings if passes else {},
    )
