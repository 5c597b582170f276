"""The whole server with models that transformers and the shared decoder compute, across a restart."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
import torch
from openai import AsyncOpenAI
from openai.types.chat import ChatCompletion, ChatCompletionMessageParam
from transformers import PreTrainedModel

from engine.config import EngineConfig
from engine.wiring.build import build_engine
from models.chat.format import ChatFormat, Message
from models.tokenizers.text_tokenizer import load_tokenizer
from tests.integration.api_server import running_server
from tests.integration.engine_rig import engine_config
from tests.integration.real_server import settled
from tests.redis_server import RedisServer
from tests.tiny_architectures import tiny_config, tiny_network
from tests.tiny_tokenizer import BYTE_VOCAB, TOKENIZER_CONFIG, byte_tokenizer

pytest_plugins = ["tests.store_fixtures"]
pytestmark = pytest.mark.usefixtures("patient_loads")

QUESTION = "Tell me about rivers, please. " * 10
SECOND = "And about lakes?"
TOKENS = 12


@pytest.fixture(params=["gemma3_text", "qwen3"])
def network(request: pytest.FixtureRequest) -> PreTrainedModel:
    """Make a network whose windows are no multiple of a block."""
    config = tiny_config(request.param, vocab_size=BYTE_VOCAB, max_position_embeddings=4096, sliding_window=100)
    return tiny_network(config)


@pytest.fixture
def folder(network: PreTrainedModel, tmp_path: Path) -> Path:
    folder = tmp_path / "model"
    network.save_pretrained(folder)
    byte_tokenizer().save(str(folder / "tokenizer.json"))
    (folder / "tokenizer_config.json").write_text(json.dumps(TOKENIZER_CONFIG))
    return folder


@asynccontextmanager
async def chatting(config: EngineConfig, state: Path) -> AsyncIterator[AsyncOpenAI]:
    """Serve a model, and yield a client. Before the server stops, all blocks are stored."""
    engine = await asyncio.to_thread(build_engine, config, lambda _: None)
    async with running_server(state, engine) as server:
        async with AsyncOpenAI(base_url=f"{server.url}/v1", api_key="none") as client:
            yield client
        await settled(engine)


async def answered(client: AsyncOpenAI, messages: list[ChatCompletionMessageParam]) -> ChatCompletion:
    return await client.chat.completions.create(
        model="smollm2", messages=messages, max_tokens=TOKENS, temperature=0.0, logprobs=True
    )


def cached(completion: ChatCompletion) -> int:
    assert completion.usage is not None
    assert completion.usage.prompt_tokens_details is not None
    return completion.usage.prompt_tokens_details.cached_tokens or 0


def log_probabilities(completion: ChatCompletion) -> list[float]:
    scores = completion.choices[0].logprobs
    assert scores is not None
    assert scores.content
    return [token.logprob for token in scores.content]


@torch.inference_mode()
def greedy(network: PreTrainedModel, ids: list[int]) -> list[float]:
    """Generate TOKENS tokens with transformers alone, without a cache, and return their log probabilities."""
    tokens, found = list(ids), list[float]()
    for _ in range(TOKENS):
        best = network(input_ids=torch.tensor([tokens]), use_cache=False).logits[0, -1].log_softmax(-1).max(-1)
        tokens.append(int(best.indices))
        found.append(float(best.values))
    return found


async def test_second_turn_is_cached_and_again_after_a_restart(
    network: PreTrainedModel, folder: Path, tmp_path: Path, redis_server: RedisServer
) -> None:
    chat = ChatFormat.load(folder, load_tokenizer(folder))
    expected = greedy(network, chat.render([Message("user", QUESTION)]))
    config = engine_config(folder, tmp_path / "state", dtype="float32", redis_url=f"unix://{redis_server.socket}")
    async with chatting(config, tmp_path) as client:
        first = await answered(client, [{"role": "user", "content": QUESTION}])
        scores = log_probabilities(first)
        assert scores == pytest.approx(expected[: len(scores)], abs=1e-4)
        assert cached(first) == 0
        messages: list[ChatCompletionMessageParam] = [
            {"role": "user", "content": QUESTION},
            {"role": "assistant", "content": first.choices[0].message.content or ""},
            {"role": "user", "content": SECOND},
        ]
        second = await answered(client, messages)
        assert cached(second) >= 256
    async with chatting(config, tmp_path) as client:
        again = await answered(client, messages)
        assert cached(again) >= 256
        assert log_probabilities(again) == pytest.approx(log_probabilities(second), abs=1e-4)
