"""Models of random weights with the default model's tokenizer, larger than the default model.

The default model is so small that much of a step is not weights. These measure the speed of larger models. The answers
mean nothing.
"""

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

from bench.random_llama import write_random_llama

_LLAMA: Final = {
    "hidden_size": 2048,
    "intermediate_size": 5632,
    "num_hidden_layers": 22,
    "num_attention_heads": 32,
    "num_key_value_heads": 4,
    "head_dim": 64,
    "tie_word_embeddings": False,
}
_QWEN3: Final = {
    "architectures": ["Qwen3ForCausalLM"],
    "model_type": "qwen3",
    "hidden_size": 1024,
    "intermediate_size": 3072,
    "num_hidden_layers": 24,
    "num_attention_heads": 16,
    "num_key_value_heads": 8,
    "head_dim": 128,
    "vocab_size": 151_936,
    "tie_word_embeddings": True,
}
LARGE_MODELS: Final[Mapping[str, Mapping[str, Any]]] = MappingProxyType({"llama-1.1b": _LLAMA, "qwen3-0.5b": _QWEN3})
"""Changes to the default model's config.json. The Llama is as large as TinyLlama."""


def large_model(name: str, source: Path, cache_dir: Path) -> Path:
    """Return the folder of a model in `cache_dir`, written on the first call. `source`: the default model's folder."""
    folder = cache_dir / name
    if not folder.exists():
        partial = cache_dir / f"{name}.partial"
        partial.mkdir(parents=True, exist_ok=True)
        write_random_llama(source, partial, LARGE_MODELS[name], only_known_tokens=True)
        partial.rename(folder)
    return folder


def kv_bytes_of_token(name: str) -> int:
    """Return the bytes of one token's keys and values in bfloat16."""
    shape = LARGE_MODELS[name]
    return int(4 * shape["num_hidden_layers"] * shape["num_key_value_heads"] * shape["head_dim"])
