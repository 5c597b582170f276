"""What a runner returns, and what becomes of it."""

import itertools
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

import torch

from cache_tiers.transfer import TransferResult
from engine.outputs import TokenLogprobs
from engine.sampling.logprobs import token_logprobs
from engine.scheduling.output import ModelRunnerOutput, PromptLogprobs, SchedulerOutput
from engine.worker.input_batch import ScheduledRequest


@dataclass(frozen=True, slots=True)
class ToldLogprobs:
    """By request, of those that want them: of the sampled token, and of a chunk of the prompt."""

    sampled: Mapping[str, TokenLogprobs] = field(default_factory=dict)
    prompts: Mapping[str, PromptLogprobs] = field(default_factory=dict)


NO_LOGPROBS: Final = ToldLogprobs()


@dataclass(frozen=True, slots=True)
class ForwardPass:
    """sampled: by request, a token, or what stands of a draft and the token behind it. started, ended: around the model
    and the sampler alone, on time.perf_counter."""

    sampled: dict[str, tuple[int, ...]]
    started: float
    ended: float
    logprobs: ToldLogprobs = NO_LOGPROBS


def told_logprobs(scheduled: Sequence[ScheduledRequest], tokens: Sequence[int], logits: torch.Tensor) -> ToldLogprobs:
    """tokens: of the sampling requests. logits: the rows of those of them that want logprobs, then the rows before
    `prompt_targets`; float32, as the model has them."""
    rows = [(each.request_id, row) for each in scheduled for row in each.sampling]
    own = [
        (name, token, row.num_logprobs)
        for (name, row), token in zip(rows, tokens, strict=True)
        if row.num_logprobs is not None
    ]
    chunks = [each for each in scheduled if each.prompt_targets]
    ids = [token for _, token, _ in own] + [token for each in chunks for token in each.prompt_targets]
    tops = [count for _, _, count in own] + [each.num_prompt_logprobs for each in chunks for _ in each.prompt_targets]
    told = iter(token_logprobs(logits, ids, tops))
    sampled = {name: next(told) for name, _, _ in own}
    prompts = {
        each.request_id: PromptLogprobs(each.context_len, tuple(itertools.islice(told, len(each.prompt_targets))))
        for each in chunks
    }
    return ToldLogprobs(sampled, prompts)


def step_output(
    step: SchedulerOutput,
    passes: Sequence[ForwardPass],
    transfers: tuple[TransferResult, ...],
    *,
    received: float,
    prepared: float,
) -> ModelRunnerOutput:
    """The result of a step that ends now. passes: all of it, or none if only blocks moved."""
    names = passes[0].sampled if passes else ()
    sampled = {name: tuple([token for each in passes for token in each.sampled[name]]) for name in names}
    return ModelRunnerOutput(
        step.step_id,
        sampled,
        transfers,
        passes[0].started if passes else 0.0,
        passes[-1].ended if passes else 0.0,
        received=received,
        prepared=prepared,
        sent=time.perf_counter(),
        logprobs={
            name: tuple([each.logprobs.sampled[name] for each in passes])
            for name in (passes[0].logprobs.sampled if passes else ())
        },
        prompt_logprobs=passes[0].logprobs.prompts if passes else {},
    )
