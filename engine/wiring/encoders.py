"""Configuration of an engine whose model is an encoder: nothing of a text is kept between steps."""

from typing import Final

from engine.api.errors import EngineError
from engine.config import EngineConfig
from models.encoder.config import is_encoder
from models.weights.folder import ModelFolder

WINDOWS: Final = 8
"""Longest texts that an encoder's scheduler has room for at once, in the place of blocks of KV."""


def has_encoder(config: EngineConfig) -> bool:
    """Return whether the model is an encoder. Raise ModelNotFoundError for a folder without config.json."""
    return is_encoder(ModelFolder(config.model.path).config())


def without_kv(config: EngineConfig) -> EngineConfig:
    """Return the configuration of the engine: for an encoder without tiers and reuse, else `config` itself.

    Raise EngineError for settings that divide a model or draft its answers, and as `has_encoder`.
    """
    if not has_encoder(config):
        return config
    if config.parallel.num_processes > 1:
        raise EngineError(
            "the model is an encoder, which one process computes: omit --tensor-parallel-size and "
            "--pipeline-parallel-size. Several processes with --replicas are possible"
        )
    if config.speculation.draft_model is not None:
        raise EngineError("the model is an encoder, which gives no answers that could be drafted: omit --draft-model")
    unused = config.cache.tiers or config.cache.unused_tiers
    return config.with_fields(
        tiers=None, unused_tiers=unused, prefix_cache=False, public_prompt="", prompt_lookup=False
    )
