"""The finding of `ebb doctor` on the ranking of documents."""

import json
from pathlib import Path

from app.doctor.checks import check_attention
from app.doctor.finding import Finding
from app.doctor.format_check import check_formats
from app.doctor.memory_plan import plan_memory
from app.doctor.network_check import check_network
from app.doctor.rerank_check import check_rerank
from tests.integration.app.doctor.test_format_check import settings
from tests.tiny_encoders import tiny_encoder
from tests.tiny_models import make_tiny_model


def found(folder: Path, **flags: str) -> Finding:
    return check_rerank(settings(folder, **flags))


def test_way_of_ranking_is_named(tmp_path: Path) -> None:
    make_tiny_model(tmp_path)
    assert found(tmp_path).text.startswith("no: the model's folder names neither")
    assert found(tmp_path, rerank_words="y,n").text == "by the model's judgement of each document"
    (tmp_path / "1_Pooling").mkdir()
    (tmp_path / "1_Pooling" / "config.json").write_text('{"pooling_mode_lasttoken": true}')
    (tmp_path / "config_sentence_transformers.json").write_text('{"matryoshka_dimensions": [32, 16, true]}')
    assert found(tmp_path).text == "by the cosine of embeddings; embeddings may have 16, 32 values"


def test_wrong_words_and_heads_are_named(tmp_path: Path) -> None:
    make_tiny_model(tmp_path)
    finding = found(tmp_path, rerank_words="yes,n")
    assert (finding.level, "'yes' is 3 tokens" in finding.text) == ("fail", True)
    config = json.loads((tmp_path / "config.json").read_text())
    (tmp_path / "config.json").write_text(json.dumps(config | {"architectures": ["LlamaForSequenceClassification"]}))
    finding = found(tmp_path)
    assert (finding.level, finding.text) == ("warn", "no: its head has 2 labels, and a score is made of one")


def test_encoder_is_described(tmp_path: Path) -> None:
    tiny_encoder(tmp_path, "bert")
    here = settings(tmp_path)
    assert check_rerank(here).text == "by the cosine of embeddings"
    assert check_network(here).text.startswith("encoder of 512 tokens")
    assert check_formats(here).level == check_attention(here).level == "ok"
    assert plan_memory(here, tmp_path, free=1 << 30).cpu_pool == 0
