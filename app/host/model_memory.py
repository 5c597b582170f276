"""Memory that a model will take, known from its files before it is loaded."""

from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Final

from app.config.settings import Settings
from app.config.sizes import format_size
from engine.cpu.format_sizes import packed_model_bytes
from engine.cpu.instruction_set import INSTRUCTION_SETS
from models.adapters.found import find_adapters
from models.adapters.peft_config import TENSOR_FILE
from models.weights.folder import ModelFolder
from models.weights.stored import read_stored_weights

PROCESS_BYTES: Final = 384 << 20
"""Memory of a process with the libraries of an engine."""

SMALLEST_POOL: Final = 64 << 20
"""Memory for KV blocks below which no model is loaded. A pool without a size takes a part of what is free."""

BYTES: Final = MappingProxyType({"bfloat16": 2, "float32": 4})
"""Bytes of a plain weight by the name of its type."""


@dataclass(frozen=True, slots=True)
class ModelMemory:
    """Memory of one model in bytes.

    weights: the most that the weights take while they are loaded.
    """

    weights: int = 0
    pool: int = 0
    cpu_tier: int = 0

    @property
    def total(self) -> int:
        """Memory of the whole process."""
        return self.weights + self.pool + self.cpu_tier + PROCESS_BYTES

    def __str__(self) -> str:
        """Describe the parts."""
        return (
            f"{format_size(self.total)} (weights {format_size(self.weights)}, KV blocks {format_size(self.pool)}, CPU "
            f"tier {format_size(self.cpu_tier)}, the process itself {format_size(PROCESS_BYTES)})"
        )


def memory_on_cpu(settings: Settings, folder: Path, draft_folder: Path | None = None) -> ModelMemory:
    """Return the memory of the model in `folder` on a CPU, with its draft model and its adapters.

    Reads only the headers of the files.

    Raise ModelError for a folder without weights, or with weights that cannot be read.
    """
    weights = _weights(folder, settings.quantization, settings.dtype)
    if draft_folder is not None:
        weights += _weights(draft_folder, settings.draft_quantization, settings.dtype)
    if settings.adapters_dir is not None:
        files = (path / TENSOR_FILE for path in find_adapters(settings.adapters_dir))
        weights += sum(file.stat().st_size for file in files if file.is_file())
    tier = 0 if settings.no_prefix_cache else settings.cpu_kv_memory or 0
    return ModelMemory(weights, settings.kv_memory or SMALLEST_POOL, tier)


def _weights(folder: Path, quantization: str, dtype: str) -> int:
    """Return the most bytes that weights take while they are loaded."""
    stored = read_stored_weights(ModelFolder(folder))
    if stored.is_quantized:
        return stored.nbytes
    # The formats of the weakest CPU are the largest.
    packed = packed_model_bytes(stored, quantization, INSTRUCTION_SETS[-1], has_decoder=True)
    return max(packed, stored.plain * BYTES[dtype])
