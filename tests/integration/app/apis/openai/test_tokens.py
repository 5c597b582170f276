"""Tokenization and detokenization over HTTP."""

from pathlib import Path
from typing import Any

import aiohttp
import pytest

from engine.testing.byte_tokenizer import END, START, WORDS, ByteTokenizer
from engine.testing.replay_engine import WINDOW, ReplayEngine
from tests.integration.api_server import RunningServer, api_client, running_server

Api = RunningServer[ReplayEngine]


async def test_tokenized_prompt_equals_a_completions_prompt(api: Api, http: aiohttp.ClientSession) -> None:
    tokenized = await (await http.post("/tokenize", json={"model": "fake-1", "prompt": "ab<|end|>"})).json()
    assert tokenized == {"count": 3, "max_model_len": WINDOW, "tokens": [97, 98, END], "token_strs": None}
    await http.post("/v1/completions", json={"model": "fake-1", "prompt": "ab<|end|>"})
    assert list(api.engine.requests[0].prompt) == tokenized["tokens"]


async def test_tokenized_messages_equal_a_chats_prompt(api: Api, http: aiohttp.ClientSession) -> None:
    messages = [{"role": "developer", "content": "a"}, {"role": "user", "content": [{"type": "text", "text": "b"}]}]
    tokenized = await (await http.post("/tokenize", json={"messages": messages, "add_generation_prompt": True})).json()
    await http.post("/v1/chat/completions", json={"model": "fake-1", "messages": messages})
    assert tuple(tokenized["tokens"]) == api.engine.requests[0].prompt
    assert tokenized["count"] == len(tokenized["tokens"])


async def test_detokenized_text_names_control_tokens(http: aiohttp.ClientSession) -> None:
    response = await http.post("/detokenize", json={"model": "fake-1", "tokens": [START, 97, WORDS, END]})
    assert await response.json() == {"prompt": "<a w0>"}
    assert await (await http.post("/detokenize", json={"tokens": []})).json() == {"prompt": ""}


@pytest.mark.parametrize(
    ("path", "fields", "param"),
    [
        ("/tokenize", {}, "prompt"),
        ("/tokenize", {"prompt": 5}, "prompt"),
        ("/tokenize", {"prompt": "x", "messages": [{"role": "user", "content": "x"}]}, "messages"),
        ("/tokenize", {"messages": [{"role": "robot", "content": "x"}]}, "messages[0].role"),
        (
            "/tokenize",
            {"messages": [{"role": "user", "content": "x"}], "add_special_tokens": True},
            "add_special_tokens",
        ),
        ("/tokenize", {"prompt": "x", "return_token_strs": True}, "return_token_strs"),
        ("/tokenize", {"prompt": "x" * 1_000_000}, "prompt"),
        ("/detokenize", {}, "tokens"),
        ("/detokenize", {"tokens": [1, -1]}, "tokens[1]"),
        ("/detokenize", {"tokens": ["1"]}, "tokens[0]"),
        ("/detokenize", {"tokens": [1, ByteTokenizer.vocab_size]}, "tokens[1]"),
        ("/detokenize", {"tokens": [1] * (WINDOW + 1)}, "tokens"),
    ],
    ids=lambda value: str(value)[:40],
)
async def test_invalid_field_is_refused_by_name(
    http: aiohttp.ClientSession, path: str, fields: dict[str, Any], param: str
) -> None:
    response = await http.post(path, json=fields)
    assert response.status == 400
    assert (await response.json())["error"]["param"] == param


async def test_tokenizer_is_described_only_while_a_model_is_served(tmp_path: Path) -> None:
    async with running_server(tmp_path, ReplayEngine(), ready=False) as server, api_client(server.url) as http:
        assert (await http.get("/tokenizer_info")).status == 503
        server.services.model.host.ready(server.engine, "identity")
        assert await (await http.get("/tokenizer_info")).json() == {"tokenizer_class": "ByteTokenizer"}


@pytest.mark.parametrize(("path", "fields"), [("/tokenize", {"prompt": "x"}), ("/detokenize", {"tokens": [1]})])
async def test_unknown_model_is_not_found(http: aiohttp.ClientSession, path: str, fields: dict[str, Any]) -> None:
    response = await http.post(path, json=fields | {"model": "other"})
    assert response.status == 404
    assert (await response.json())["error"]["code"] == "model_not_found"
