"""config.json of each family as its owners edit it: Ebb reads the same network as transformers, or refuses the file."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any, Final

import pytest
import torch
from transformers import AutoConfig, PreTrainedConfig
from transformers.models.auto.modeling_auto import MODEL_FOR_CAUSAL_LM_MAPPING

from models.decoder.config import DecoderConfig
from models.errors import UnsupportedModelError
from models.registry import read_config
from models.transformers.refusals import read_config as read_for_transformers
from models.weights.folder import ModelFolder
from tests.family_logits import our_logits, their_logits
from tests.family_models import FAMILIES, LLAMA3, ONE_OF_EACH, SHAPE, YARN, save_family
from tests.sizes import LARGE

KEPT: Final = ("architectures", "model_type")
LINEAR: Final = {"rope_type": "linear", "factor": 4.0}
SCALED: Final = {key: value for key, value in YARN.items() if key != "rope_theta"}

WITHOUT_EFFECT: Final = {field.name for field in fields(PreTrainedConfig)} | {
    "attention_dropout",
    "bos_token_id",
    "embd_pdrop",
    "eos_token_id",
    "initializer_range",
    "pad_token_id",
    "pretraining_tp",
    "resid_pdrop",
    "use_cache",
}
"""Keys that do not change the network: training, the format of outputs, and tokens, which are read elsewhere."""

LISTS: Final = ("layer_types", "no_rope_layers")

Config = dict[str, Any]


def saved(name: str) -> Config:
    """Return config.json of a family as transformers saves it: without values that are the family's own."""
    kind, changes = FAMILIES[name]
    config = AutoConfig.for_model(kind, **SHAPE | changes)
    written: Config = json.loads(config.to_json_string())
    return written | {"architectures": [architecture_of(config)]}


def architecture_of(config: PreTrainedConfig) -> str:
    name: str = MODEL_FOR_CAUSAL_LM_MAPPING[type(config)].__name__
    return name


def by_transformers(folder: Path, raw: Config) -> DecoderConfig | None:
    """Read config.json as transformers reads it, with every key that the file omits; None if it refuses the file."""
    (folder / "config.json").write_text(json.dumps(raw))
    try:
        config = AutoConfig.from_pretrained(folder)
        return read_config({**config.to_dict(), "architectures": [architecture_of(config)]})
    except Exception:  # whatever validation in transformers raises
        return None


def by_ebb(raw: Config) -> DecoderConfig | None:
    """Read config.json; None if the shared decoder refuses the file, which leaves it to transformers."""
    try:
        return read_config(raw)
    except UnsupportedModelError:
        return None


def left_out(raw: Config) -> Iterator[Config]:
    for key in raw.keys() - {*KEPT}:
        yield {name: value for name, value in raw.items() if name != key}
    yield {name: raw[name] for name in KEPT}


def set_to_null(raw: Config) -> Iterator[Config]:
    for key in raw.keys() - {*KEPT}:
        yield raw | {key: None}


def old_spellings(raw: Config) -> Iterator[Config]:
    """Write the rotary positions as before transformers 5."""
    rope = dict(raw["rope_parameters"])
    if "full_attention" in rope:
        return
    others = {key: value for key, value in raw.items() if key != "rope_parameters"}
    theta = {"rope_theta": rope.pop("rope_theta")}
    named = {"type" if key == "rope_type" else key: value for key, value in rope.items()}
    for new in ({"rope_scaling": rope}, {"rope_scaling": named}, {"rope_parameters": named}):
        yield others | theta | new
        yield others | new
    yield others | theta
    yield others | theta | {"rope_scaling": None, "rope_parameters": None}
    yield others | {"rope_scaling": rope | theta}


def scaled(raw: Config) -> Iterator[Config]:
    """Add keys that change the rotary positions."""
    theta = {"rope_theta": 700.0}
    for scaling in (SCALED, LINEAR, {"type": "linear", "factor": 2}, LLAMA3):
        yield raw | {"rope_scaling": scaling | theta}
        yield raw | {"rope_parameters": None, "rope_scaling": scaling} | theta
        yield raw | {"rope_parameters": {}, "rope_scaling": scaling} | theta
        yield raw | {"rope_parameters": theta | scaling, "rope_scaling": {}}
    yield raw | theta
    for odd in (
        {"truncate": 1},
        {"truncate": 0},
        {"truncate": None},
        {"beta_fast": 0},
        {"beta_slow": None},
        {"factor": None},
        {"mscale": 0.7},
        {"mscale": 0.7, "mscale_all_dim": 1},
        {"attention_factor": 2.0},
    ):
        yield raw | {"rope_parameters": YARN | odd}
    for kind in (YARN, LLAMA3):
        without = {key: value for key, value in kind.items() if key != "original_max_position_embeddings"}
        yield raw | {"rope_parameters": without}
        yield raw | {"rope_parameters": without, "original_max_position_embeddings": 128}
        yield raw | {"rope_parameters": kind, "original_max_position_embeddings": 128}


def windowed(raw: Config) -> Iterator[Config]:
    """Add keys that change the windows."""
    kinds = ["full_attention", "sliding_attention"]
    for window in (40, None):
        for layer_types in (kinds * 2, kinds[:1] * 4, kinds[1:] * 4, None):
            yield raw | {"layer_types": layer_types, "sliding_window": window}
            yield raw | {"layer_types": layer_types, "sliding_window": window, "use_sliding_window": True}
    yield raw | {"layer_types": ["attention"] * 4}


EDITS: Final = (left_out, set_to_null, old_spellings, scaled, windowed)


def is_original_dropped(raw: Config) -> bool:
    """Return whether transformers reads Phi-3's usual original context in place of that of the file, which counts."""
    key = "original_max_position_embeddings"
    rope = raw.get("rope_scaling") or raw.get("rope_parameters") or {}
    return raw["model_type"] == "phi3" and key in rope and key not in raw


@pytest.mark.parametrize("edits", EDITS)
@pytest.mark.parametrize("name", [pytest.param(name, marks=() if name in ONE_OF_EACH else LARGE) for name in FAMILIES])
def test_edited_config_is_read_as_transformers_reads_it(tmp_path: Path, name: str, edits: Any) -> None:
    for raw in edits(saved(name)):
        theirs, ours = by_transformers(tmp_path, raw), by_ebb(raw)
        assert theirs is None or ours is None or ours == theirs or is_original_dropped(raw), raw
        assert ours is not None or theirs is None or edits is not left_out, f"an omitted key is refused: {raw}"


def other(value: Any) -> Any:
    """Return another value of the same kind."""
    match value:
        case bool():
            return not value
        case int():
            return 1 if value == 2 else 2
        case float():
            return value * 2
        case str():
            return f"{value}?"
        case list():
            return value[::-1]
    return 64


@pytest.mark.parametrize("kind", sorted({kind for kind, _ in FAMILIES.values()}))
def test_every_key_of_a_family_is_read_or_without_effect(kind: str) -> None:
    names = [name for name, (each, _) in FAMILIES.items() if each == kind]
    seen = set[str]()
    for config in (AutoConfig.for_model(kind, **SHAPE | FAMILIES[name][1]) for name in names):
        whole = config.to_dict() | {"architectures": [architecture_of(config)]}
        # Some keys only count without a list that names each layer.
        for raw in (whole, {key: value for key, value in whole.items() if key not in LISTS}):
            seen |= {key for key in raw if by_ebb(raw | {key: other(raw[key])}) != by_ebb(raw)}
    ignored = {"attn_logit_softcapping"} if kind == "gemma3_text" else set()
    assert not {field.name for field in fields(type(config))} - seen - WITHOUT_EFFECT - ignored


def edit(folder: Path, changes: Mapping[str, Any]) -> Path:
    file = folder / "config.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | changes))
    return folder


@pytest.mark.parametrize(
    ("name", "changes"),
    [
        ("mistral, window", {"layer_types": ["full_attention", "sliding_attention"] * 2}),
        ("mistral, window", {"layer_types": ["full_attention"] * 4}),
        ("qwen3", {"rope_scaling": SCALED | {"factor": 4.0}, "rope_theta": 500.0, "rope_parameters": None}),
        ("qwen3", {"rope_scaling": SCALED | {"factor": 4.0, "rope_theta": 500.0}}),
        ("llama 3", {"rope_scaling": LINEAR | {"rope_theta": 500.0}}),
        ("qwen3, yarn", {"rope_parameters": YARN | {"truncate": 1}}),
        ("qwen3, yarn", {"rope_parameters": YARN | {"truncate": 0}}),
        ("gemma3", {"rope_scaling": LINEAR}),
    ],
)
def test_logits_of_an_edited_folder_match_transformers(tmp_path: Path, name: str, changes: Config) -> None:
    folder = edit(save_family(tmp_path / "model", name), changes)
    ids = torch.randint(3, 250, (150,), generator=torch.Generator().manual_seed(2))
    torch.testing.assert_close(our_logits(folder, ids), their_logits(folder, ids), rtol=1e-4, atol=1e-4)


def test_scaling_next_to_new_parameters_keeps_their_base() -> None:
    """Read a file as a model's page tells users to extend it. transformers would take the base 10,000."""
    raw = saved("qwen3") | {"rope_parameters": {"rope_type": "default", "rope_theta": 500.0}, "rope_scaling": SCALED}
    assert read_config(raw) == read_config(raw | {"rope_scaling": None, "rope_parameters": YARN})
    assert read_config(raw | {"rope_theta": 500.0}) == read_config(raw)


def test_scaling_next_to_new_parameters_keeps_the_rotated_part() -> None:
    raw = saved("phi3, part")
    rope = {"rope_type": "linear", "factor": 2.0}
    expected = read_config(raw | {"rope_parameters": raw["rope_parameters"] | rope})
    assert read_config(raw | {"rope_scaling": rope}) == expected


def test_two_bases_without_a_choice_are_refused_with_both(tmp_path: Path) -> None:
    raw = saved("qwen3") | {"rope_theta": 700.0, "rope_scaling": SCALED}
    raw["rope_parameters"] = {"rope_type": "default", "rope_theta": 500.0}
    (tmp_path / "config.json").write_text(json.dumps(raw))
    with pytest.raises(UnsupportedModelError, match=r"rope_theta is 700\.0, but 500\.0 in rope_parameters"):
        read_config(raw)
    with pytest.raises(UnsupportedModelError, match=r"rope_theta is 700\.0, but 500\.0 in rope_parameters"):
        read_for_transformers(ModelFolder(tmp_path), "cpu")


def test_transformers_gets_the_base_that_it_would_drop(tmp_path: Path) -> None:
    raw = saved("qwen3") | {"rope_parameters": {"rope_type": "default", "rope_theta": 500.0}, "rope_scaling": SCALED}
    (tmp_path / "config.json").write_text(json.dumps(raw))
    rope = read_for_transformers(ModelFolder(tmp_path), "cpu").rope_parameters
    assert rope["rope_theta"] == 500
    assert rope["rope_type"] == "yarn"


def test_text_part_named_mistral_has_its_window_in_every_layer() -> None:
    """Read a Mistral 3, whose text part has no such rule in transformers."""
    text = saved("mistral, window") | {"layer_types": ["full_attention"] * 4, "tie_word_embeddings": False}
    whole = {"architectures": ["Mistral3ForConditionalGeneration"], "model_type": "mistral3", "text_config": text}
    assert [layer.window for layer in read_config(whole).layers] == [40] * 4
