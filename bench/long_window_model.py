"""A tiny model of random weights with a window of 131,072 tokens and the default model's tokenizer.

Benchmarks and tests of long prompts use it: the default model's window is 8,192. The model has one head of 128 in one
layer, so that as little as possible of a step is arithmetic. The answers mean nothing.
"""

from pathlib import Path
from typing import Final

from bench.random_llama import write_random_llama

WINDOW: Final = 131_072
HEAD_DIM: Final = 128


def write_long_window_model(source: Path, target: Path) -> Path:
    """Write the folder `target`, with the tokenizer of the default model's folder `source`; returns `target`."""
    target.mkdir(parents=True)
    shape = {
        "hidden_size": HEAD_DIM,
        "intermediate_size": 2 * HEAD_DIM,
        "num_hidden_layers": 1,
        "num_attention_heads": 1,
        "num_key_value_heads": 1,
        "head_dim": HEAD_DIM,
        "max_position_embeddings": WINDOW,
        "rope_theta": 10_000_000.0,
    }
    write_random_llama(source, target, shape)
    return target
