"""What a runner returns, and what becomes of it."""

import time
from collections.abc import Sequence
from dataclasses import dataclass

from cache_tiers.transfer import TransferResult
from engine.scheduling.output import ModelRunnerOutput, SchedulerOutput


@dataclass(frozen=True, slots=True)
class ForwardPass:
    """sampled: token id by request. started, ended: around the model and the sampler alone, on time.perf_counter."""

    sampled: dict[str, int]
    started: float
    ended: float


def step_output(
    step: SchedulerOutput,
    passes: Sequence[ForwardPass],
    transfers: tuple[TransferResult, ...],
    *,
    received: float,
    prepared: float,
) -> ModelRunnerOutput:
    """The result of a step that ends now. passes: all of it, or none if only blocks moved."""
    sampled = {name: tuple([each.sampled[name] for each in passes]) for name in (passes[0].sampled if passes else ())}
    return ModelRunnerOutput(
        step.step_id,
        sampled,
        transfers,
        passes[0].started if passes else 0.0,
        passes[-1].ended if passes else 0.0,
        received=received,
        prepared=prepared,
        sent=time.perf_counter(),
    )
