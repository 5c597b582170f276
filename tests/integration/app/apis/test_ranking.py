"""The rerank and score routes over a fake engine, whose vector is the length of a prompt, its first and its last id."""

import asyncio
from collections.abc import Callable
from typing import Any

import aiohttp
import pytest

from app.domain.bounds import MAX_RANKED
from app.serving.texts import AT_ONCE
from engine.testing.replay_engine import MODEL, WINDOW, ReplayEngine
from models.retrieval.folder import Retrieval
from models.retrieval.pairs import pair_messages
from models.retrieval.score_head import ScoreHead
from tests.integration.api_server import RunningServer

Api = RunningServer[ReplayEngine]
Post = Callable[[str, dict[str, Any]], Any]

QUERY = "When is high tide, and why is it so much higher in spring than in summer?"
DOCUMENTS = ["At six o'clock.", "Salt.", "At six, and again in the evening, since the moon pulls twice."]


@pytest.fixture
def ranker(api: Api) -> ReplayEngine:
    """Let longer prompts have higher scores."""
    api.engine.retrieval = Retrieval(head=ScoreHead([0.001, 0.0, 0.0]))
    return api.engine


@pytest.fixture
def post(http: aiohttp.ClientSession) -> Post:
    async def posted(path: str, body: dict[str, Any]) -> Any:
        response = await http.post(path, json={"model": MODEL, **body})
        return response.status, await response.json()

    return posted


def prompt(engine: ReplayEngine, document: str) -> list[int]:
    return engine.chat_format.render(pair_messages(QUERY, document, has_roles=False))


async def test_best_documents_come_first(ranker: ReplayEngine, post: Post) -> None:
    status, found = await post("/v1/rerank", {"query": QUERY, "documents": DOCUMENTS, "return_documents": True})
    assert status == 200, found
    assert [each["index"] for each in found["results"]] == [2, 0, 1]
    assert [each["document"]["text"] for each in found["results"]] == [DOCUMENTS[2], DOCUMENTS[0], DOCUMENTS[1]]
    total = sum(len(prompt(ranker, document)) for document in DOCUMENTS)
    assert found["usage"] == {"prompt_tokens": total, "total_tokens": total}
    head = ranker.retrieval.head
    assert head is not None
    expected = head.score([len(prompt(ranker, DOCUMENTS[2])), 0, 0])
    assert found["results"][0]["relevance_score"] == pytest.approx(expected)
    status, found = await post("/v2/rerank", {"query": QUERY, "documents": DOCUMENTS, "top_n": 2})
    assert [sorted(each) for each in found["results"]] == [["index", "relevance_score"]] * 2
    assert found["meta"]["api_version"] == {"version": "2"}


async def test_prompts_share_the_blocks_of_their_query(ranker: ReplayEngine, post: Post) -> None:
    await post("/v1/rerank", {"query": QUERY, "documents": [{"text": text} for text in DOCUMENTS]})
    first, *others = ranker.requests
    block, prompts = ranker.config.cache.block_size, [prompt(ranker, document) for document in DOCUMENTS]
    assert [list(each.prompt) for each in others] == prompts
    assert len(first.prompt) >= block
    assert len(first.prompt) % block == 0
    assert all(ids[: len(first.prompt)] == list(first.prompt) for ids in prompts)
    assert (first.params.max_tokens, first.keep_kv) == (0, True)
    assert not any(each.keep_kv for each in others)
    ranker.requests.clear()
    await post("/v1/rerank", {"query": QUERY, "documents": DOCUMENTS[:1]})
    assert len(ranker.requests) == 1


async def test_scores_keep_the_order_of_the_pairs(ranker: ReplayEngine, post: Post) -> None:
    _, one = await post("/v1/score", {"text_1": QUERY, "text_2": DOCUMENTS})
    _, each = await post("/v1/score", {"text_1": [QUERY] * 3, "text_2": DOCUMENTS})
    assert one["data"] == each["data"]
    assert [(of["index"], of["object"]) for of in one["data"]] == [(0, "score"), (1, "score"), (2, "score")]
    assert one["data"][1]["score"] < one["data"][0]["score"] < one["data"][2]["score"]
    status, refused = await post("/v1/score", {"text_1": [QUERY] * 2, "text_2": DOCUMENTS})
    assert (status, refused["error"]["param"]) == (400, "text_1")
    assert ranker.running == 0


async def test_model_for_embeddings_ranks_by_cosine(api: Api, post: Post) -> None:
    api.engine.retrieval = Retrieval(has_embeddings=True)
    _, found = await post("/v1/rerank", {"query": "sea", "documents": ["bread", "sea", "bread"]})
    assert found["results"][0] == {"index": 1, "relevance_score": pytest.approx(1.0)}
    assert found["results"][1]["relevance_score"] == found["results"][2]["relevance_score"] < 1
    # The three texts of the request are two.
    assert [bytes(each.prompt) for each in api.engine.requests] == [b"sea", b"bread"]


@pytest.mark.parametrize("path", ["/v1/rerank", "/v2/rerank"])
@pytest.mark.parametrize(
    ("fields", "param"),
    [
        ({"query": ""}, "query"),
        ({"documents": []}, "documents"),
        ({"documents": ["a"] * (MAX_RANKED + 1)}, "documents"),
        ({"documents": ["a", "", "b"]}, "documents[1]"),
        ({"documents": ["a", "b", "c", 5]}, "documents[3]"),
        ({"documents": ["a", "b", "c", "d" * WINDOW]}, "documents[3]"),
        ({"top_n": 0}, "top_n"),
        ({"max_tokens_per_doc": 0}, "max_tokens_per_doc"),
    ],
)
async def test_bad_input_is_named(
    ranker: ReplayEngine, post: Post, path: str, fields: dict[str, Any], param: str
) -> None:
    status, refused = await post(path, {"query": QUERY, "documents": DOCUMENTS, **fields})
    assert (status, refused["error"]["param"]) == (400, param)
    assert ranker.requests == []


async def test_other_models_are_refused_by_name(api: Api, post: Post) -> None:
    for path, body in (
        ("/v1/rerank", {"query": QUERY, "documents": DOCUMENTS}),
        ("/v2/rerank", {"query": QUERY, "documents": DOCUMENTS}),
        ("/v1/score", {"text_1": QUERY, "text_2": DOCUMENTS}),
    ):
        status, refused = await post(path, body)
        assert (status, refused["error"]["param"]) == (400, "model")
        assert MODEL in refused["error"]["message"]
    api.engine.retrieval = Retrieval(refusal="its head has 3 labels")
    _, refused = await post("/v1/rerank", {"query": QUERY, "documents": DOCUMENTS})
    assert "its head has 3 labels" in refused["error"]["message"]


async def test_long_document_is_cut_where_the_client_says_so(ranker: ReplayEngine, post: Post) -> None:
    long = "tide " * WINDOW
    body = {"query": QUERY, "documents": ["short", long], "max_tokens_per_doc": 50}
    assert (await post("/v2/rerank", body))[0] == 200
    assert list(ranker.requests[-1].prompt) == prompt(ranker, long[:50])
    assert list(ranker.requests[-2].prompt) == prompt(ranker, "short")


async def test_disconnected_client_aborts_its_documents(ranker: ReplayEngine, http: aiohttp.ClientSession) -> None:
    ranker.hold()
    body = {"model": MODEL, "text_1": [f"{at}" for at in range(50)], "text_2": ["sea"] * 50}
    leaving = asyncio.create_task(http.post("/v1/score", json=body))
    await ranker.until_running(AT_ONCE)
    leaving.cancel()
    await ranker.until_running(0)
    assert ranker.finished == {"abort": AT_ONCE}
