"""Encoders: embeddings and labels compared with transformers, and the same bits in every batch."""

import asyncio
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt
import pytest
import torch
from transformers import PreTrainedModel

from engine.api.sampling_params import Pooling
from engine.config import CacheConfig, EngineConfig, ModelConfig
from engine.wiring.build import build_engine
from tests.integration.api_server import api_client, running_server
from tests.integration.engine.test_embeddings import bits, embed, llm_of
from tests.tiny_encoders import KINDS, tiny_encoder, word_pieces

PROMPTS: Final = tuple([2, *(4 + at * (7 + length) % 56 for at in range(length)), 3] for length in (1, 60, 300))
QUERY: Final = "why is the sea salty?"
DOCUMENTS: Final = ["rivers carry salt.", "bread.", "the moon makes the tides, " * 9]


def config_of(folder: Path, dtype: str) -> EngineConfig:
    return EngineConfig(
        model=ModelConfig(path=folder, name="tiny", dtype=dtype),
        cache=CacheConfig(tiers=None, secret=b"a secret of the tests"),
    )


def pooled(network: PreTrainedModel, pooling: Pooling) -> list[npt.NDArray[np.float32]]:
    with torch.inference_mode():
        states = [network(torch.tensor([prompt])).last_hidden_state[0] for prompt in PROMPTS]
    return [(each.mean(0) if pooling == "mean" else each[0]).numpy() for each in states]


@pytest.mark.parametrize("kind", KINDS)
def test_embeddings_match_transformers(tmp_path: Path, kind: str) -> None:
    network = tiny_encoder(tmp_path, kind)
    with llm_of(tmp_path, "float32", rows=64) as llm:
        for pooling in ("mean", "first"):
            found = [np.frombuffer(each, dtype="<f4") for each in bits(embed(llm, PROMPTS, pooling))]
            for vector, exact in zip(found, pooled(network, pooling), strict=True):
                assert vector == pytest.approx(exact, abs=2e-5)


@pytest.mark.parametrize("kind", KINDS)
def test_bits_depend_neither_on_batch_nor_on_chunks(tmp_path: Path, kind: str) -> None:
    network = tiny_encoder(tmp_path, kind)
    with llm_of(tmp_path, "bfloat16") as whole, llm_of(tmp_path, "bfloat16", rows=64) as chunked:
        alone = [bits(embed(whole, [prompt], "auto"))[0] for prompt in PROMPTS]
        assert bits(embed(whole, PROMPTS, "auto")) == alone
        assert bits(embed(whole, PROMPTS[::-1], "auto")) == alone[::-1]
        assert bits(embed(chunked, PROMPTS, "auto")) == alone
    for vector, exact in zip(alone, pooled(network, "mean"), strict=True):
        found = np.frombuffer(vector, dtype="<f4")
        assert float(found @ exact) / float(np.linalg.norm(found) * np.linalg.norm(exact)) > 0.999


def test_folder_chooses_window_and_pooling(tmp_path: Path) -> None:
    network = tiny_encoder(tmp_path, "bert")
    (tmp_path / "1_Pooling").mkdir()
    (tmp_path / "1_Pooling" / "config.json").write_text('{"pooling_mode_cls_token": true}')
    (tmp_path / "sentence_bert_config.json").write_text('{"max_seq_length": 302}')
    with llm_of(tmp_path, "float32") as llm:
        assert llm.engine.processor.limits.window == 302
        [vector] = bits(embed(llm, PROMPTS[1:2], "auto"))
    assert np.frombuffer(vector, dtype="<f4") == pytest.approx(pooled(network, "first")[1], abs=2e-5)


def labels(network: PreTrainedModel, kind: str) -> list[float]:
    """Score the documents by transformers."""
    tokenizer, scores = word_pieces(), list[float]()
    for document in DOCUMENTS:
        pair = tokenizer.encode(QUERY, document)
        kinds = {"token_type_ids": torch.tensor([pair.type_ids])} if kind == "bert" else {}
        with torch.inference_mode():
            scores.append(float(torch.sigmoid(network(torch.tensor([pair.ids]), **kinds).logits[0, 0])))
    return scores


@pytest.mark.parametrize(
    ("kind", "changes"), [(kind, {}) for kind in KINDS] + [("modernbert", {"classifier_pooling": "mean"})]
)
async def test_documents_are_ranked_by_the_label(tmp_path: Path, kind: str, changes: dict[str, str]) -> None:
    network = tiny_encoder(tmp_path / "model", kind, has_label=True, **changes)
    engine = await asyncio.to_thread(build_engine, config_of(tmp_path / "model", "float32"), lambda _: None)
    async with running_server(tmp_path, engine) as server, api_client(server.url) as http:
        body = {"model": "tiny", "query": QUERY, "documents": DOCUMENTS}
        response = await http.post("/v2/rerank", json=body)
        found = await response.json()
        assert response.status == 200, found
        exact = labels(network, kind)
        assert [each["index"] for each in found["results"]] == sorted(range(3), key=lambda at: -exact[at])
        for each in found["results"]:
            assert each["relevance_score"] == pytest.approx(exact[each["index"]], abs=1e-5)
        for path, other in (
            ("/v1/completions", {"prompt": "sea"}),
            ("/v1/chat/completions", {"messages": [{"role": "user", "content": "hi"}]}),
        ):
            assert (await http.post(path, json={"model": "tiny", **other})).status == 400
