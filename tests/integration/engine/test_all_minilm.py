"""all-MiniLM-L6-v2 with its published weights: embeddings and rerank of sentences. The first run downloads 84 MB."""

import asyncio
from pathlib import Path
from typing import Final

import pytest

from engine.config import CacheConfig, DeviceConfig, EngineConfig, ModelConfig
from engine.wiring.build import build_engine
from models.download.resolve import resolve_model
from tests.conftest import default_cache_dir
from tests.integration.api_server import api_client, running_server

pytestmark = pytest.mark.many_models

NAME: Final = "all-minilm-l6-v2"
QUESTION: Final = "How do I reset my password?"
OTHERS: Final = [
    "The capital of France is Paris.",
    "Steps to change a forgotten password",
    "A recipe for sourdough bread with rye flour and a long fermentation over night in the fridge",
    "cat",
]


async def test_paraphrase_is_the_best_document(tmp_path: Path) -> None:
    cache_dir = default_cache_dir()
    folder = await asyncio.to_thread(resolve_model, NAME, cache_dir, print)
    config = EngineConfig(
        model=ModelConfig(path=folder, name=NAME),
        cache=CacheConfig(tiers=None, secret=b"a secret of the tests"),
        device=DeviceConfig(cache_dir=cache_dir),
    )
    engine = await asyncio.to_thread(build_engine, config, lambda _: None)
    async with running_server(tmp_path, engine) as server, api_client(server.url) as http:
        assert engine.max_model_len == 256
        body = {"model": NAME, "query": QUESTION, "documents": OTHERS}
        ranked = (await (await http.post("/v1/rerank", json=body)).json())["results"]
        assert ranked[0]["index"] == 1
        # The published model in float32: 0.81, and at most 0.15 for the others.
        assert ranked[0]["relevance_score"] == pytest.approx(0.81, abs=0.01)
        assert all(abs(each["relevance_score"]) < 0.17 for each in ranked[1:])
        embedded = await (await http.post("/v1/embeddings", json={"model": NAME, "input": QUESTION})).json()
        assert len(embedded["data"][0]["embedding"]) == 384
        assert embedded["usage"]["prompt_tokens"] == 9
