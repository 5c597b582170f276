"""Division of one engine's configuration among replicas."""

from dataclasses import replace

from engine.api.errors import EngineError
from engine.config import EngineConfig
from engine.executor.device_shares import VARIABLES


def check_divisible(config: EngineConfig, count: int, ray_address: str = "") -> None:
    """Raise EngineError for a configuration that `count` replicas cannot share yet.

    ray_address: the Ray cluster on whose machines they run; empty for this machine.
    """
    if config.device.kind != "cpu" and not ray_address and len(config.device.accelerators) < count:
        raise EngineError(
            f"{count} replicas need {count} {config.device.kind} devices, one each, and this machine shows "
            f"{len(config.device.accelerators)}. Lower --replicas, or check {VARIABLES[config.device.kind]}."
        )
    parallel = config.parallel
    for name, size in (("tensor", parallel.tensor_parallel_size), ("pipeline", parallel.pipeline_parallel_size)):
        if size > 1 and not ray_address:
            raise EngineError(
                f"--replicas and --{name}-parallel-size can be combined on a Ray cluster only. Add --ray-address, "
                "or omit one of them."
            )


def check_shareable(config: EngineConfig) -> None:
    """Raise EngineError for a configuration that replicas of several gateways cannot use."""
    if config.parallel.num_processes > 1:
        raise EngineError(
            "--shared-replicas: each replica must be one process. Omit --tensor-parallel-size and "
            "--pipeline-parallel-size, or let each server have replicas of its own."
        )
    if config.cache.tiers is not None and config.cache.tiers.redis_url == "auto":
        raise EngineError(
            "--shared-replicas: the replicas outlive each server, and the Redis that a server starts does not. Name "
            "another one with --redis-url, or turn Redis off with --redis-url off."
        )


def check_machines(config: EngineConfig) -> None:
    """Raise EngineError for a configuration that other machines cannot use."""
    tiers = config.cache.tiers
    if tiers is not None and (tiers.redis_url == "auto" or tiers.redis_url.startswith("unix:")):
        raise EngineError(
            "--ray-address: replicas on several machines need a Redis that all of them reach. Name it with "
            "--redis-url redis://HOST:PORT, or turn Redis off with --redis-url off."
        )


def shares_of(config: EngineConfig, count: int) -> list[EngineConfig]:
    """Return the configuration of each of `count` replicas."""
    tiers = config.cache.tiers
    if tiers is not None:
        cpu_memory = tiers.cpu_memory // count if tiers.cpu_memory is not None else None
        tiers = replace(tiers, cpu_memory=cpu_memory)
    # An accelerator's memory belongs to one replica. That of the host is common.
    kv_memory = config.cache.kv_memory // count if config.device.kind == "cpu" else config.cache.kv_memory
    machine_share = count * config.parallel.machine_share
    share = config.with_fields(kv_memory=kv_memory, tiers=tiers, machine_share=machine_share)
    return [share] * count
