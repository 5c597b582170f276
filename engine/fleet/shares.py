"""Division of one engine's configuration among replicas."""

from dataclasses import replace

from engine.config import EngineConfig
from engine.errors import EngineError


def check_divisible(config: EngineConfig) -> None:
    """Raise EngineError for a configuration that replicas cannot share yet."""
    if config.device != "cpu":
        raise EngineError(
            f"--replicas divides the cores of one machine, but the model is computed on {config.device!r}. "
            "Use --device cpu, or omit --replicas."
        )
    for name, size in (("tensor", config.tensor_parallel_size), ("pipeline", config.pipeline_parallel_size)):
        if size > 1:
            raise EngineError(f"--replicas and --{name}-parallel-size cannot be combined yet. Omit one of them.")


def shares_of(config: EngineConfig, count: int) -> list[EngineConfig]:
    """Return the configuration of each of `count` replicas."""
    tiers = config.tiers
    if tiers is not None:
        cpu_memory = tiers.cpu_memory // count if tiers.cpu_memory is not None else None
        tiers = replace(tiers, cpu_memory=cpu_memory)
    share = replace(config, kv_memory=config.kv_memory // count, tiers=tiers, machine_share=count)
    return [share] * count
