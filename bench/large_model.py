"""A Llama of 1.1 B random weights with the default model's tokenizer, as large as TinyLlama.

The default model is so small that much of a step is not weights. This one measures the speed of larger models. The
answers mean nothing.
"""

from pathlib import Path
from typing import Final

from bench.random_llama import write_random_llama

NAME: Final = "llama-1.1b"
SHAPE: Final = {
    "hidden_size": 2048,
    "intermediate_size": 5632,
    "num_hidden_layers": 22,
    "num_attention_heads": 32,
    "num_key_value_heads": 4,
    "head_dim": 64,
    "tie_word_embeddings": False,
}


def large_model(source: Path, cache_dir: Path) -> Path:
    """Return the model's folder in `cache_dir`, written on the first call. `source`: the default model's folder."""
    folder = cache_dir / NAME
    if not folder.exists():
        partial = cache_dir / f"{NAME}.partial"
        partial.mkdir(parents=True, exist_ok=True)
        write_random_llama(source, partial, SHAPE)
        partial.rename(folder)
    return folder
