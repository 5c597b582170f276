"""Embeddings through OpenAI's own client, a test for each row in docs/reference/api, and through plain HTTP."""

import asyncio
import math
from collections.abc import Sequence
from pathlib import Path

import aiohttp
import openai
import pytest
from openai import AsyncOpenAI

from app.serving.texts import AT_ONCE
from engine.testing.replay_engine import FAILING, WINDOW, ReplayEngine
from models.retrieval.folder import Retrieval
from tests.integration.api_server import RunningServer, running_server
from tests.integration.compatibility import row

Api = RunningServer[ReplayEngine]


def direction(text: str) -> list[float]:
    """Return the fake engine's embedding of an ASCII text, with length 1."""
    values = (len(text), ord(text[0]), ord(text[-1]))
    return [value / math.hypot(*values) for value in values]


def close_to(vectors: Sequence[Sequence[float]], texts: Sequence[str]) -> bool:
    return all(vector == pytest.approx(direction(text)) for vector, text in zip(vectors, texts, strict=True))


@row("openai", "embeddings.create(input=...)", "a vector of length 1 for each text or list of token ids, and usage")
async def test_every_kind_of_input_is_embedded(client: AsyncOpenAI) -> None:
    found = await client.embeddings.create(model="fake-1", input=["sea", "see the sea"])
    assert [(each.index, each.object) for each in found.data] == [(0, "embedding"), (1, "embedding")]
    assert close_to([each.embedding for each in found.data], ["sea", "see the sea"])
    assert (found.usage.prompt_tokens, found.usage.total_tokens, found.model) == (14, 14, "fake-1")
    for same in ("sea", list(b"sea"), [list(b"sea")]):
        [alone] = (await client.embeddings.create(model="fake-1", input=same)).data
        assert alone.embedding == found.data[0].embedding


@row("openai", "embeddings.create(encoding_format=...)", "the same float32 values as numbers and as `base64`")
async def test_both_encodings_have_the_same_values(client: AsyncOpenAI, http: aiohttp.ClientSession) -> None:
    [plain] = (await client.embeddings.create(model="fake-1", input="sea", encoding_format="float")).data
    # The client asks for base64 where the caller names no encoding.
    [decoded] = (await client.embeddings.create(model="fake-1", input="sea")).data
    assert decoded.embedding == plain.embedding
    body = {"model": "fake-1", "input": "sea", "encoding_format": "base64"}
    answer = await (await http.post("/v1/embeddings", json=body)).json()
    assert len(answer["data"][0]["embedding"]) == 4 * math.ceil(4 * 3 / 3)


@row(
    "openai",
    "embeddings.create(...)",
    "a text that is too long, an empty one, or other `dimensions`: `BadRequestError`",
)
async def test_error_names_the_text_at_fault(client: AsyncOpenAI) -> None:
    for given, field in ((["sea", "s" * (WINDOW + 1)], "input[1]"), ("s" * (WINDOW + 1), "input"), ("", "input")):
        with pytest.raises(openai.BadRequestError) as caught:
            await client.embeddings.create(model="fake-1", input=given)
        assert caught.value.param == field
    assert len((await client.embeddings.create(model="fake-1", input="sea", dimensions=3)).data) == 1
    with pytest.raises(openai.BadRequestError, match="embeddings have 3 values") as caught:
        await client.embeddings.create(model="fake-1", input="sea", dimensions=2)
    assert caught.value.param == "dimensions"


@row("openai", "embeddings.create(dimensions=...)", "a shorter vector of length 1, for a model trained for that size")
async def test_embedding_is_cut_to_a_size_of_the_model(api: Api, client: AsyncOpenAI) -> None:
    api.engine.retrieval = Retrieval(dimensions=(2, 8))
    for text in ("sea", "see the sea"):
        [cut] = (await client.embeddings.create(model="fake-1", input=text, dimensions=2)).data
        whole = direction(text)[:2]
        assert cut.embedding == pytest.approx([value / math.hypot(*whole) for value in whole])
    for size in (1, 8):
        with pytest.raises(openai.BadRequestError, match="may be shortened to 2") as caught:
            await client.embeddings.create(model="fake-1", input="sea", dimensions=size)
        assert caught.value.param == "dimensions"


async def test_engine_has_few_texts_of_a_request_at_once(api: Api, client: AsyncOpenAI) -> None:
    api.engine.hold()
    many = asyncio.create_task(client.embeddings.create(model="fake-1", input=["sea"] * (AT_ONCE + 9)))
    await api.engine.until_running(AT_ONCE)
    api.engine.allow(None)
    assert len((await many).data) == len(api.engine.requests) == AT_ONCE + 9
    assert not any(stream.keep_kv for stream in api.engine.requests)


async def test_disconnected_client_aborts_its_texts(api: Api, http: aiohttp.ClientSession) -> None:
    api.engine.hold()
    leaving = asyncio.create_task(http.post("/v1/embeddings", json={"model": "fake-1", "input": ["sea"] * 50}))
    await api.engine.until_running(AT_ONCE)
    leaving.cancel()
    await api.engine.until_running(0)
    assert api.engine.finished == {"abort": AT_ONCE}
    assert len(api.engine.requests) == AT_ONCE


async def test_failed_text_fails_the_request_and_aborts_the_rest(api: Api, client: AsyncOpenAI) -> None:
    with pytest.raises(openai.InternalServerError, match="The model failed"):
        await client.embeddings.create(model="fake-1", input=[FAILING, *["sea"] * 40])
    assert api.engine.running == 0


async def test_full_queue_is_a_rate_limit_error(tmp_path: Path) -> None:
    async with (
        running_server(tmp_path, ReplayEngine(max_waiting=0)) as server,
        AsyncOpenAI(base_url=f"{server.url}/v1", api_key="none", max_retries=0) as client,
    ):
        with pytest.raises(openai.RateLimitError) as caught:
            await client.embeddings.create(model="fake-1", input="sea")
        assert caught.value.response.headers["Retry-After"] == "3"
