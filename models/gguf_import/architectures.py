"""Architectures of GGUF files, and what each adds to config.json.

Source of the keys: github.com/ggml-org/llama.cpp, conversion/. Keys begin with the name of the architecture.
"""

from collections.abc import Callable
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final

from models.errors import ConversionError
from models.gguf_import.metadata import Metadata

Fields = dict[str, Any]


def _nothing(_: Metadata) -> Fields:
    return {}


@dataclass(frozen=True, slots=True)
class Architecture:
    """An architecture of GGUF files.

    name: name of the architecture at the hub.
    interleaves: files hold the two halves of each head of q and k interleaved.
    fields: reads the fields of config.json that only this architecture has.
    """

    name: str
    interleaves: bool
    fields: Callable[[Metadata], Fields] = _nothing


def _granite(metadata: Metadata) -> Fields:
    """Read the multipliers of Granite. The model's own defaults are 1."""
    keys = {
        "attention_multiplier": "granite.attention.scale",
        "embedding_multiplier": "granite.embedding_scale",
        "residual_multiplier": "granite.residual_scale",
        "logits_scaling": "granite.logit_scale",
    }
    return {name: metadata.decimal(key, default=1.0) for name, key in keys.items()}


def _smollm3(_: Metadata) -> Fields:
    """Return the layers without rotary positions, which files do not state: every fourth one."""
    return {"no_rope_layer_interval": 4, "use_sliding_window": False}


ARCHITECTURES: Final = MappingProxyType(
    {
        "llama": Architecture("LlamaForCausalLM", interleaves=True),
        "qwen2": Architecture("Qwen2ForCausalLM", interleaves=False),
        "qwen3": Architecture("Qwen3ForCausalLM", interleaves=False),
        "granite": Architecture("GraniteForCausalLM", interleaves=True, fields=_granite),
        "smollm3": Architecture("SmolLM3ForCausalLM", interleaves=True, fields=_smollm3),
    }
)
"""Architectures by their names in GGUF files, which are also their model types at the hub."""


def architecture_of(name: str) -> Architecture:
    """Return an architecture by its name in GGUF files. Raise ConversionError if it is not supported."""
    found = ARCHITECTURES.get(name)
    if found is None:
        raise ConversionError(f"the file has the architecture {name!r}; supported are {', '.join(ARCHITECTURES)}")
    return found
