"""Estimate of the memory that a server with given settings will take, before it is started."""

from dataclasses import dataclass, replace
from pathlib import Path

import torch

from app.config.settings import Settings, trial_config
from app.doctor.network_check import network_of
from cache_tiers.layout.layout import BlockLayout
from cache_tiers.registry import sealing_bytes
from engine.attention.backend import kv_shapes
from engine.device.choice import block_size_for, choose_device
from engine.kv.budget import kv_budget, redis_budget
from engine.speculation.phrases import MAX_TENANTS, TENANT_BYTES
from engine.worker.native.weight_memory import WeightMemory, weight_memory
from models.download.resolve import find_model
from models.registry import ENCODER, NetworkSummary
from models.weights.folder import ModelFolder
from models.weights.stored import read_stored_weights

STAGING_BYTES = 64 << 20
"""Size of the CPU tier when it is off but a lower tier is on: blocks pass through it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryPlan:
    """Memory of a server, in bytes.

    Weights and pools are allocated at the start. Redis grows up to `redis`, and the phrases of earlier answers up to
    `phrases`, with the number of tenants. sealing: memory of the threads that seal blocks for the lower tiers. loading:
    the most that the weights take while they are loaded, before there are pools.
    """

    weights: int
    device_pool: int
    cpu_pool: int
    redis: int
    sealing: int = 0
    loading: int = 0
    phrases: int = 0

    @property
    def at_start(self) -> int:
        """Bytes that the server itself allocates at its start, and with its first blocks."""
        return self.weights + self.device_pool + self.cpu_pool + self.sealing

    @property
    def total(self) -> int:
        """Bytes in use once the companion Redis is full, and many tenants have phrases."""
        return self.at_start + self.redis + self.phrases


def plan_memory(
    settings: Settings, model_folder: Path | None, *, free: int, host_free: int | None = None
) -> MemoryPlan:
    """Plan the memory for `settings` on a device with `free` bytes.

    model_folder: None counts the parts that depend on the model as 0.
    host_free: free bytes of the host, for a device with its own memory.

    Raise ModelNotFoundError for a folder without weights, WeightsError for weights that cannot be read,
    UnsupportedModelError for an unknown configuration, EngineError for an instruction set that this CPU lacks.
    """
    tiers = not settings.no_prefix_cache
    staging = STAGING_BYTES if settings.redis_url != "off" or settings.disk_kv_size != 0 else 0
    weights, window, sealing = WeightMemory(0, 0), 0, 0
    if model_folder is not None:
        network = network_of(settings, model_folder)
        # An encoder has no KV for the tiers to keep.
        tiers = tiers and network.code != ENCODER
        weights = weights_of(settings, model_folder, network)
        window = 0 if settings.kv_memory else window_bytes(settings, network)
        if settings.draft_model and (draft := find_model(settings.draft_model, settings.cache_dir)) is not None:
            weights, window = _with_draft_model(settings, draft, weights, network, window)
        block = kv_bytes(settings, network, block_size_for(choose_device(settings.device)))
        sealing = sealing_bytes(settings.tier_config(b""), block)
    redis = redis_budget(settings.redis_memory, free if host_free is None else host_free)
    budget = kv_budget(
        settings.kv_memory,
        settings.cpu_kv_memory,
        free=max(0, free - weights.held),
        window_nbytes=window,
        host_free=None if choose_device(settings.device) == "cpu" else host_free,
    )
    return MemoryPlan(
        weights=weights.held,
        loading=weights.loading,
        device_pool=budget.pool,
        cpu_pool=max(budget.cpu_tier, staging) if tiers else 0,
        redis=redis if tiers and settings.redis_url == "auto" else 0,
        sealing=sealing if tiers else 0,
        phrases=settings.replicas * MAX_TENANTS * TENANT_BYTES if tiers and not settings.no_speculation else 0,
    )


def _with_draft_model(
    settings: Settings, folder: Path, weights: WeightMemory, network: NetworkSummary, window: int
) -> tuple[WeightMemory, int]:
    """Add the weights of the draft model in `folder`, and its KV of the window of `network`."""
    own = replace(settings, quantization=settings.draft_quantization)
    draft = network_of(own, folder)
    more = weights_of(own, folder, draft)
    if window:
        window += kv_bytes(own, draft, window_tokens(settings, network))
    both = replace(weights, held=weights.held + more.held, loading=max(weights.loading, weights.held + more.loading))
    return both, window


def window_tokens(settings: Settings, network: NetworkSummary) -> int:
    """Return the tokens of the context window."""
    return min(settings.max_model_len or network.max_position_embeddings, network.max_position_embeddings)


def window_bytes(settings: Settings, network: NetworkSummary) -> int:
    """Return the KV size, in bytes, of one sequence that fills the context window."""
    return kv_bytes(settings, network, window_tokens(settings, network))


def kv_bytes(settings: Settings, network: NetworkSummary, num_tokens: int) -> int:
    """Return the size, in bytes, of the KV of `num_tokens` tokens in one piece."""
    itemsize: int = getattr(torch, settings.dtype).itemsize
    return BlockLayout(kv_shapes(network.attention), num_tokens, itemsize).nbytes


def weights_of(settings: Settings, model_folder: Path, network: NetworkSummary) -> WeightMemory:
    """Return the memory of the weights on the device that serves. Reads only the headers of the files.

    On a CPU, each replica holds its own. An accelerator has one replica.
    """
    stored = read_stored_weights(ModelFolder(model_folder))
    one = weight_memory(stored, network.decoder, trial_config(settings, model_folder))
    copies = settings.replicas if choose_device(settings.device) == "cpu" else 1
    return replace(one, held=copies * one.held, loading=copies * one.loading)
