"""Reading of config.json for encoders: the shapes of published models, and the refused settings."""

from collections.abc import Mapping
from typing import Any, Final

import pytest

from models.encoder.config import is_encoder, read_encoder_config
from models.errors import UnsupportedModelError

SIZES: Final[dict[str, Any]] = {
    "hidden_size": 64,
    "intermediate_size": 128,
    "num_hidden_layers": 4,
    "num_attention_heads": 4,
    "vocab_size": 99,
}
BERT: Final[dict[str, Any]] = {**SIZES, "model_type": "bert", "architectures": ["BertModel"]}
MODERN: Final[dict[str, Any]] = {**SIZES, "model_type": "modernbert", "architectures": ["ModernBertModel"]}


def test_positions_of_xlm_r_begin_behind_that_of_padding() -> None:
    raw = {**BERT, "model_type": "xlm-roberta", "max_position_embeddings": 514, "pad_token_id": 1}
    config = read_encoder_config(raw)
    assert (config.first_position, config.max_position_embeddings) == (2, 512)


def test_old_keys_of_modernbert_are_read() -> None:
    config = read_encoder_config({**MODERN, "global_rope_theta": 5e4, "local_rope_theta": 1e3, "local_attention": 10})
    assert config.windows == (0, 5, 5, 0)
    assert config.thetas == (5e4, 1e3, 1e3, 5e4)
    assert config.attention_bias is config.norm_bias is False


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"architectures": ["BertForQuestionAnswering"]}, "BertForQuestionAnswering"),
        ({"architectures": ["BertForSequenceClassification"]}, "2 labels"),
        ({"architectures": ["BertForSequenceClassification"], "id2label": {"0": "a", "1": "b", "2": "c"}}, "3 labels"),
        ({"hidden_act": "relu"}, "hidden_act 'relu'"),
        ({"position_embedding_type": "relative_key"}, "relative_key"),
        ({"num_attention_heads": 5}, "5 heads"),
        ({"vocab_size": None}, "vocab_size"),
        ({**MODERN, "rope_parameters": {"full_attention": {"rope_type": "yarn"}}}, "yarn"),
        ({**MODERN, "layer_types": ["full_attention"]}, "layer_types"),
    ],
)
def test_other_networks_are_refused_by_the_key(changes: Mapping[str, Any], reason: str) -> None:
    with pytest.raises(UnsupportedModelError, match=reason):
        read_encoder_config({**BERT, **changes})


def test_decoder_is_not_an_encoder() -> None:
    assert is_encoder(BERT)
    assert not is_encoder({**BERT, "is_decoder": True})
    assert not is_encoder({**BERT, "model_type": "llama"})
