"""How much memory a server with these settings will take, before it is started."""

from dataclasses import dataclass
from math import prod
from pathlib import Path

import torch
from safetensors import safe_open

from app.config import Settings
from models.folder import ModelFolder

STAGING_BYTES = 64 << 20
"""What the CPU tier keeps when it is off but Redis is on: blocks pass through it."""


@dataclass(frozen=True, slots=True)
class MemoryPlan:
    """In bytes. weights, device_pool and cpu_pool are taken at the start; redis grows up to its number."""

    weights: int
    device_pool: int
    cpu_pool: int
    redis: int

    @property
    def at_start(self) -> int:
        """Taken by the server itself, from the first minute on."""
        return self.weights + self.device_pool + self.cpu_pool

    @property
    def total(self) -> int:
        """With the companion Redis full."""
        return self.at_start + self.redis


def plan_memory(settings: Settings, model_folder: Path | None) -> MemoryPlan:
    """The plan for `settings`; without a model on this machine its weights count nothing.

    Raises ModelNotFoundError for a folder without weights.
    """
    tiers = not settings.no_prefix_cache
    staging = STAGING_BYTES if settings.redis_url != "off" else 0
    return MemoryPlan(
        weights=weight_bytes(model_folder, settings.dtype) if model_folder is not None else 0,
        device_pool=settings.kv_memory,
        cpu_pool=max(settings.cpu_kv_memory, staging) if tiers else 0,
        redis=settings.redis_memory if tiers and settings.redis_url == "auto" else 0,
    )


def weight_bytes(model_folder: Path, dtype: str) -> int:
    """Bytes of the model's weights once loaded as `dtype` ("bfloat16" or "float32"); only headers are read."""
    parameters = 0
    for file in ModelFolder(model_folder).weight_files():
        with safe_open(file, framework="pt") as tensors:
            parameters += sum(prod(tensors.get_slice(name).get_shape()) for name in tensors.keys())  # noqa: SIM118
    size: int = getattr(torch, dtype).itemsize
    return parameters * size
