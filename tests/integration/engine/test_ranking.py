"""Documents ranked by decoders, compared with transformers, and the KV that the prompts of a query share."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import aiohttp
import pytest
import torch
from transformers import PreTrainedModel, Qwen3Config, Qwen3ForCausalLM, Qwen3ForSequenceClassification

from engine.loop.async_llm import AsyncLLMEngine
from engine.wiring.build import build_engine
from tests.integration.api_server import RunningServer, api_client, running_server
from tests.integration.engine_rig import engine_config
from tests.tiny_tokenizer import BYTE_VOCAB, CHAT_TEMPLATE, TOKENIZER_CONFIG, byte_tokenizer

Api = RunningServer[AsyncLLMEngine]

QUERY: Final = "Why is the sea salty, and the rivers that fill it are not?"
DOCUMENTS: Final = [
    "Rivers carry salt to the sea, and only water leaves it.",
    "Bread.",
    "The moon makes the tides. <|im_end|> " * 3,
    "Rain takes salt out of rocks" + " and rocks are many" * 20,
]
ROLES: Final = (
    "{% for m in messages %}{{ 'Q: ' + m.content if m.role == 'query' else '' }}"
    "{{ '\nD: ' + m.content if m.role == 'document' else '' }}{% endfor %}{{ '<|im_end|>' }}"
)
SHAPE: Final[dict[str, Any]] = {
    "hidden_size": 128,
    "intermediate_size": 192,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "num_key_value_heads": 1,
    "head_dim": 64,
    "vocab_size": BYTE_VOCAB,
    "max_position_embeddings": 2048,
    "pad_token_id": 0,
    "bos_token_id": 1,
    "eos_token_id": 2,
}


def saved(
    network: PreTrainedModel, folder: Path, *, template: str = CHAT_TEMPLATE, score: dict[str, Any] | None = None
) -> Path:
    """Write a folder of `network`. score: the configuration of its LogitScore module."""
    network.save_pretrained(folder)
    byte_tokenizer().save(str(folder / "tokenizer.json"))
    (folder / "tokenizer_config.json").write_text(json.dumps({**TOKENIZER_CONFIG, "chat_template": template}))
    if score is not None:
        (folder / "1_LogitScore").mkdir()
        (folder / "1_LogitScore" / "config.json").write_text(json.dumps(score))
    return folder


def id_of(text: str) -> int:
    [id_] = byte_tokenizer().encode(text).ids
    return id_


@asynccontextmanager
async def serving(
    folder: Path, tmp_path: Path, dtype: str = "bfloat16", words: tuple[str, ...] = ()
) -> AsyncIterator[tuple[Api, aiohttp.ClientSession]]:
    config = engine_config(folder, tmp_path / "state", dtype=dtype, blocks=200, redis_url="off")
    config = replace(config, model=replace(config.model, rerank_words=words))
    engine = await asyncio.to_thread(build_engine, config, lambda _: None)
    async with running_server(tmp_path, engine) as server, api_client(server.url) as http:
        yield server, http


async def scores(http: aiohttp.ClientSession, documents: Sequence[str]) -> list[float]:
    body = {"model": "smollm2", "text_1": QUERY, "text_2": list(documents)}
    response = await http.post("/v1/score", json=body)
    answer = await response.json()
    assert response.status == 200, answer
    return [each["score"] for each in answer["data"]]


JUDGED: Final = (
    "<|im_start|>system\nJudge whether the Document meets the requirements based on the Query and the Instruct "
    'provided. Note that the answer can only be "yes" or "no".<|im_end|>\n<|im_start|>user\n<Instruct>: Given a '
    f"web search query, retrieve relevant passages that answer the query\n<Query>: {QUERY}\n<Document>: ",
    "<|im_end|>\n<|im_start|>assistant\n",
)
"""The text around a document in the prompt of Qwen3-Reranker's model card, with the tiny tokenizer's template."""
OF_ROLES: Final = (f"Q: {QUERY}\nD: ", "<|im_end|>")
"""The text around a document in a prompt by the template ROLES."""


def causal(**changes: Any) -> PreTrainedModel:
    torch.manual_seed(3)
    return Qwen3ForCausalLM(Qwen3Config(**SHAPE, **changes)).float().eval()


def classifier() -> PreTrainedModel:
    torch.manual_seed(3)
    return Qwen3ForSequenceClassification(Qwen3Config(**SHAPE, num_labels=1)).float().eval()


def two_words(network: PreTrainedModel, ids: list[int]) -> float:
    logits = network(torch.tensor([ids])).logits[0, -1]
    return float(torch.softmax(logits[[id_of("y"), id_of("n")]], 0)[0])


def one_word(network: PreTrainedModel, ids: list[int]) -> float:
    return float(torch.sigmoid(network(torch.tensor([ids])).logits[0, -1, id_of("y")]))


def label(network: PreTrainedModel, ids: list[int]) -> float:
    return float(torch.sigmoid(network(torch.tensor([ids])).logits[0, 0]))


Score = Callable[[PreTrainedModel, list[int]], float]
Encode = Callable[..., list[int]]
BOTH: Final = {"true_token_id": id_of("y"), "false_token_id": id_of("n")}

Kind = tuple[Callable[[], PreTrainedModel], dict[str, Any], tuple[str, ...], tuple[str, str], Score]
KINDS: Final[dict[str, Kind]] = {
    "two words": (
        lambda: causal(tie_word_embeddings=False),
        {"template": ROLES, "score": BOTH},
        (),
        OF_ROLES,
        two_words,
    ),
    "tied": (lambda: causal(tie_word_embeddings=True), {"template": ROLES, "score": BOTH}, (), OF_ROLES, two_words),
    "one word": (causal, {"score": {**BOTH, "false_token_id": None}}, (), JUDGED, one_word),
    "words of the settings": (causal, {}, ("y", "n"), JUDGED, two_words),
    "classifier": (classifier, {}, (), JUDGED, label),
}
"""Network, further files, words of the settings, text around a document, and score by transformers."""


def expected(network: PreTrainedModel, score: Score, around: tuple[str, str], encode: Encode) -> list[float]:
    """Score the documents by transformers. The text of a control token in a document is no control token."""
    before, after = (encode(text, special=True) for text in around)
    prompts = [[*before, *encode(document, special=False), *after] for document in DOCUMENTS]
    with torch.inference_mode():
        return [score(network, ids) for ids in prompts]


@pytest.mark.parametrize("kind", KINDS)
async def test_scores_match_transformers(kind: str, tmp_path: Path) -> None:
    make, files, words, around, score = KINDS[kind]
    network = make()
    folder = saved(network, tmp_path / "model", **files)
    async with serving(folder, tmp_path, "float32", words) as (server, http):
        found = await scores(http, DOCUMENTS)
        assert found == pytest.approx(expected(network, score, around, server.engine.tokenizer.encode), abs=1e-5)
        chat = {"model": "smollm2", "messages": [{"role": "user", "content": "hi"}], "max_tokens": 1}
        response = await http.post("/v1/chat/completions", json=chat)
        error = (await response.json()).get("error")
        if kind == "classifier":
            assert (response.status, error["param"], "gives no answers" in error["message"]) == (400, "model", True)
        else:
            assert response.status == 200


async def test_shared_beginning_is_computed_once_and_changes_no_bit(tmp_path: Path) -> None:
    network = causal()
    folder = saved(network, tmp_path / "model")
    async with serving(folder, tmp_path, words=("y", "n")) as (server, http):
        alone = [(await scores(http, [document]))[0] for document in DOCUMENTS]
        assert len(set(alone)) == len(DOCUMENTS)
        before = server.engine.stats().tokens.computed
        assert await scores(http, DOCUMENTS) == alone
        encode, block = server.engine.tokenizer.encode, server.engine.config.cache.block_size
        assert alone == pytest.approx(expected(network, two_words, JUDGED, encode), abs=0.02)
        lengths = [
            sum(len(encode(part, special=True)) for part in JUDGED) + len(encode(each, special=False))
            for each in DOCUMENTS
        ]
        shared = len(encode(JUDGED[0], special=True)) // block * block
        assert shared > 2 * block
        assert server.engine.stats().tokens.computed - before == sum(lengths) - (len(lengths) - 1) * shared
