"""How much memory a server with these settings will take, before it is started."""

from dataclasses import dataclass
from math import prod
from pathlib import Path

import torch
from safetensors import safe_open

from app.config import Settings
from cache_tiers.layout import BlockLayout
from engine.device_choice import choose_device
from engine.kv.budget import kv_budget
from models.folder import ModelFolder
from models.pangu.config import PanguConfig

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


def plan_memory(
    settings: Settings, model_folder: Path | None, *, free: int, host_free: int | None = None
) -> MemoryPlan:
    """The plan for `settings` on a device with `free` bytes; without a model, what depends on it counts nothing.

    host_free: bytes of the host; it matters where the device has memory of its own.

    Raises ModelNotFoundError for a folder without weights, UnsupportedModelError for a configuration that is unknown.
    """
    tiers = not settings.no_prefix_cache
    staging = STAGING_BYTES if settings.redis_url != "off" else 0
    weights = window = 0
    if model_folder is not None:
        weights = weight_bytes(model_folder, settings.dtype)
        window = 0 if settings.kv_memory else window_bytes(model_folder, settings)
    budget = kv_budget(
        settings.kv_memory,
        settings.cpu_kv_memory,
        free=free - weights,
        window_nbytes=window,
        host_free=None if choose_device(settings.device) == "cpu" else host_free,
    )
    return MemoryPlan(
        weights=weights,
        device_pool=budget.pool,
        cpu_pool=max(budget.cpu_tier, staging) if tiers else 0,
        redis=settings.redis_memory if tiers and settings.redis_url == "auto" else 0,
    )


def window_bytes(model_folder: Path, settings: Settings) -> int:
    """KV of one sequence as long as the window."""
    model = PanguConfig.from_json(ModelFolder(model_folder).config())
    window = min(settings.max_model_len or model.max_position_embeddings, model.max_position_embeddings)
    return BlockLayout(model.num_layers, model.num_kv_heads, window, model.head_dim, _itemsize(settings.dtype)).nbytes


def weight_bytes(model_folder: Path, dtype: str) -> int:
    """Bytes of the model's weights once loaded as `dtype` ("bfloat16" or "float32"); only headers are read."""
    parameters = 0
    for file in ModelFolder(model_folder).weight_files():
        with safe_open(file, framework="pt") as tensors:
            parameters += sum(prod(tensors.get_slice(name).get_shape()) for name in tensors.keys())  # noqa: SIM118
    return parameters * _itemsize(dtype)


def _itemsize(dtype: str) -> int:
    size: int = getattr(torch, dtype).itemsize
    return size
