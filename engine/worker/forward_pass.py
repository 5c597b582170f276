"""What a runner returns."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ForwardPass:
    """sampled: token id by request. started, ended: around the model and the sampler alone, on time.perf_counter."""

    sampled: dict[str, int]
    started: float
    ended: float
