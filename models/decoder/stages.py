"""Pipeline stages of the decoder: each computes some of the layers, in about the same time as the others."""

from dataclasses import replace

from models.decoder.config import DecoderConfig
from models.errors import UnsupportedModelError
from models.interface.partition import Stage


def stage_layers(config: DecoderConfig, count: int) -> tuple[int, ...]:
    """Divide the layers among `count` stages, and return the number of layers of each.

    A decode takes about as long as its weights take to be read. The output matrix belongs to the last stage, which
    therefore gets fewer layers by as many as have the weights of that matrix.

    Raise UnsupportedModelError if there are fewer layers than stages.
    """
    if config.num_layers < count:
        raise UnsupportedModelError(f"{config.num_layers} layers cannot be divided among {count} stages")
    share = (config.num_layers + _head_in_layers(config)) / count
    last = max(1, round(share - _head_in_layers(config)))
    # Every other stage needs a layer too.
    last = min(last, config.num_layers - count + 1) if count > 1 else config.num_layers
    others, left = count - 1, config.num_layers - last
    return (*(left * (index + 1) // others - left * index // others for index in range(others)), last)


def stage_config(config: DecoderConfig, stage: Stage) -> DecoderConfig:
    """Return the shape of a decoder that has the layers of `stage` alone."""
    return replace(config, layers=config.layers[stage.layers.start : stage.layers.stop])


def _head_in_layers(config: DecoderConfig) -> float:
    """Return the size of the output matrix in layers."""
    hidden, heads = config.hidden_size, 2 * config.num_heads + 2 * config.num_kv_heads
    layer = hidden * (heads * config.head_dim + 3 * config.intermediate_size)
    return config.vocab_size * hidden / layer
