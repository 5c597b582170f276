import json
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from app.apis.ollama.model_card import CardFacts, ModelCard
from app.apis.ollama.model_name import tagged_model, tagged_name
from app.host.engine_host import EngineHost
from app.host.model_aliases import ModelAliases
from engine.api.errors import NotFoundError
from engine.testing.replay_engine import WINDOW, ReplayEngine
from models.thinking import MarkedThinking

READY_AT = 1_700_000_000


def engine_of(folder: Path, **config: Any) -> ReplayEngine:
    engine = ReplayEngine()
    engine.config = engine.config.with_fields(path=folder, **config)
    engine.sampling_defaults = {"temperature": 0.2}
    return engine


def card_of(engine: ReplayEngine) -> ModelCard:
    return ModelCard(CardFacts.of(engine), READY_AT)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Model folder of one tensor with 1.5 million bfloat16 parameters."""
    tensor = {"dtype": "BF16", "shape": [1000, 1500], "data_offsets": [0, 3_000_000]}
    header = json.dumps({"a": tensor}).encode()
    (tmp_path / "model.safetensors").write_bytes(len(header).to_bytes(8, "little") + header + bytes(3_000_000))
    config = {"model_type": "llama", "hidden_size": 576, "num_hidden_layers": 30}
    (tmp_path / "config.json").write_text(json.dumps(config))
    return tmp_path


def test_card_describes_the_files_of_the_model(folder: Path) -> None:
    entry = card_of(engine_of(folder)).on_disk
    assert (entry["name"], entry["model"]) == ("fake-1:latest", "fake-1:latest")
    assert entry["size"] == (folder / "model.safetensors").stat().st_size
    assert entry["modified_at"] == "2023-11-14T22:13:20Z"
    assert len(bytes.fromhex(entry["digest"])) == 32
    assert entry["details"] == {
        "parent_model": "",
        "format": "safetensors",
        "family": "llama",
        "families": ["llama"],
        "parameter_size": "1.50M",
        "quantization_level": "BF16",
    }


def test_loaded_model_never_expires(folder: Path) -> None:
    entry = card_of(engine_of(folder)).in_memory
    assert datetime.fromisoformat(entry["expires_at"]).year == 9999
    assert (entry["context_length"], entry["size_vram"]) == (WINDOW, 0)
    on_gpu = card_of(engine_of(folder, kind="cuda")).in_memory
    assert on_gpu["size_vram"] == on_gpu["size"]


def test_full_card_has_window_defaults_and_capabilities(folder: Path) -> None:
    engine = engine_of(folder, quantization="int8")
    card = card_of(engine).in_full
    assert dict(line.split() for line in card["parameters"].splitlines()) == {
        "num_ctx": str(WINDOW),
        "temperature": "0.2",
    }
    assert card["model_info"] == {
        "general.architecture": "llama",
        "general.basename": "fake-1",
        "general.parameter_count": 1_500_000,
        "llama.context_length": WINDOW,
        "llama.embedding_length": 576,
        "llama.block_count": 30,
    }
    assert card["details"]["quantization_level"] == "Q8_0"
    assert card["capabilities"] == ["completion", "tools"]
    engine.chat_format.thinking = MarkedThinking(1, 2, {"slow": ""})
    assert "thinking" in card_of(engine).in_full["capabilities"]


@pytest.mark.parametrize(
    ("config", "pooling", "capabilities"),
    [
        ({}, True, ["completion", "tools", "embedding"]),
        ({"architectures": ["LlamaForSequenceClassification"]}, False, []),
        ({"model_type": "bert", "architectures": ["BertModel"]}, False, ["embedding"]),
        ({"model_type": "bert", "architectures": ["BertForSequenceClassification"]}, False, []),
    ],
)
def test_card_says_who_answers_and_who_embeds(
    folder: Path, config: dict[str, Any], pooling: bool, capabilities: list[str]
) -> None:
    whole = json.loads((folder / "config.json").read_text()) | config
    (folder / "config.json").write_text(json.dumps(whole))
    if pooling:
        (folder / "1_Pooling").mkdir()
        (folder / "1_Pooling" / "config.json").write_text('{"pooling_mode_lasttoken": true}')
    assert card_of(engine_of(folder)).in_full["capabilities"] == capabilities


def test_folder_that_is_gone_leaves_the_card_without_sizes(tmp_path: Path) -> None:
    entry = card_of(engine_of(tmp_path / "gone")).on_disk
    assert (entry["size"], entry["details"]["family"]) == (0, "unknown")


def test_name_may_have_the_default_tag() -> None:
    engine, host = ReplayEngine(), EngineHost(aliases=ModelAliases({"llama3": "fake-1"}))
    host.ready(engine, "identity")
    for name in ("fake-1", "fake-1:latest", "llama3", "llama3:latest"):
        tagged_model(host, name)
    for name in ("fake-1:7b", "other:latest", "fake-1:latest:latest"):
        with pytest.raises(NotFoundError):
            tagged_model(host, name)
    engine.model_name = "mine:q4"
    assert tagged_name(engine.model_name) == "mine:q4"
    tagged_model(host, "mine:q4")
