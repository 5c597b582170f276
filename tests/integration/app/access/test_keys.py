"""Keys and limits through the OpenAI, Anthropic and Ollama clients: one test per row of docs/guides/keys.md."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import anthropic
import ollama
import openai
import pytest

from app.storage.store import Store
from tests.integration.api_server import api_client
from tests.integration.compatibility import row
from tests.integration.tenants import People, serving_people

HI: Any = [{"role": "user", "content": "hi"}]


@pytest.fixture
async def people(tmp_path: Path) -> AsyncIterator[People]:
    async with serving_people(tmp_path) as found:
        yield found


def openai_client(people: People, key: str) -> openai.AsyncOpenAI:
    return openai.AsyncOpenAI(base_url=f"{people.server.url}/v1", api_key=key, max_retries=0)


def anthropic_client(people: People, key: str) -> anthropic.AsyncAnthropic:
    return anthropic.AsyncAnthropic(base_url=people.server.url, api_key=key, max_retries=0)


@row("openai", "OpenAI(api_key='sk-ebb-...')", "chats, responses and KV of the key's tenant")
async def test_openai_key_selects_tenant(people: People) -> None:
    async with (
        openai_client(people, people.keys["alice"]) as alice,
        openai_client(people, people.keys["bob"]) as bob,
    ):
        await alice.chat.completions.create(model="fake-1", messages=HI)
        response = await alice.responses.create(model="fake-1", input="hi")
        assert (await alice.responses.retrieve(response.id)).id == response.id
        with pytest.raises(openai.NotFoundError):
            await bob.responses.retrieve(response.id)
    assert {request.tenant for request in people.engine.requests} == {"alice"}


@row("openai", "OpenAI(api_key='wrong')", "`AuthenticationError`, code `invalid_api_key`")
async def test_openai_wrong_key_raises_authentication_error(people: People) -> None:
    async with openai_client(people, "wrong") as stranger:
        with pytest.raises(openai.AuthenticationError) as raised:
            await stranger.chat.completions.create(model="fake-1", messages=HI)
    assert raised.value.code == "invalid_api_key"


@row("openai", "chat.completions.create(...)", "a limit is reached: `RateLimitError` with `Retry-After` and its code")
async def test_openai_limit_raises_rate_limit_error(people: People) -> None:
    await people.root.put("/api/admin/tenants/alice/limits", json={"requests_per_minute": 0})
    async with openai_client(people, people.keys["alice"]) as alice:
        with pytest.raises(openai.RateLimitError) as raised:
            await alice.chat.completions.create(model="fake-1", messages=HI)
    assert (raised.value.code, raised.value.response.headers["retry-after"]) == ("requests_per_minute_limit", "60")


@row("anthropic", "Anthropic(api_key='sk-ebb-...')", "KV of the key's tenant; so with `auth_token`")
async def test_anthropic_key_selects_tenant(people: People) -> None:
    key, url = people.keys["bob"], people.server.url
    for client in (anthropic_client(people, key), anthropic.AsyncAnthropic(base_url=url, auth_token=key)):
        async with client as bob:
            await bob.messages.create(model="fake-1", max_tokens=9, messages=HI)
    assert [request.tenant for request in people.engine.requests] == ["bob", "bob"]


@row("anthropic", "Anthropic(api_key='wrong')", "`AuthenticationError`, type `authentication_error`")
async def test_anthropic_wrong_key_raises_authentication_error(people: People) -> None:
    async with anthropic_client(people, "wrong") as stranger:
        with pytest.raises(anthropic.AuthenticationError) as raised:
            await stranger.messages.create(model="fake-1", max_tokens=9, messages=HI)
    assert raised.value.response.json()["error"]["type"] == "authentication_error"


@row(
    "anthropic",
    "messages.create(...)",
    "a limit is reached: `RateLimitError` with `Retry-After`; the sentence names it",
)
async def test_anthropic_limit_raises_rate_limit_error(people: People) -> None:
    await people.root.put("/api/admin/tenants/alice/limits", json={"tokens_per_minute": 0})
    async with anthropic_client(people, people.keys["alice"]) as alice:
        with pytest.raises(anthropic.RateLimitError, match="0 tokens per minute"):
            await alice.messages.create(model="fake-1", max_tokens=9, messages=HI)


@row("ollama", "Client(headers={'Authorization': 'Bearer sk-ebb-...'})", "KV of the key's tenant; so with the variable "
     "`OLLAMA_API_KEY`")  # fmt: skip
async def test_ollama_key_selects_tenant(people: People, monkeypatch: pytest.MonkeyPatch) -> None:
    key, url = people.keys["bob"], people.server.url
    by_header = ollama.AsyncClient(host=url, headers={"Authorization": f"Bearer {key}"})
    monkeypatch.setenv("OLLAMA_API_KEY", key)
    for client in (by_header, ollama.AsyncClient(host=url)):
        async with client as bob:
            await bob.chat("fake-1", HI)
    assert [request.tenant for request in people.engine.requests] == ["bob", "bob"]


@row("ollama", "Client()", "without a key, or with a wrong one: `ResponseError` with status 401")
async def test_ollama_client_without_key_is_refused(people: People) -> None:
    async with ollama.AsyncClient(host=people.server.url) as stranger:
        with pytest.raises(ollama.ResponseError, match="API key") as raised:
            await stranger.list()
    assert raised.value.status_code == 401


@row("ollama", "chat(...)", "a limit is reached: `ResponseError` with status 429; the sentence names it")
async def test_ollama_limit_is_refused(people: People) -> None:
    await people.root.put("/api/admin/tenants/alice/limits", json={"tokens_per_minute": 0})
    headers = {"Authorization": f"Bearer {people.keys['alice']}"}
    async with ollama.AsyncClient(host=people.server.url, headers=headers) as alice:
        with pytest.raises(ollama.ResponseError, match="0 tokens per minute") as raised:
            await alice.chat("fake-1", HI)
    assert raised.value.status_code == 429


async def test_key_of_another_process_works_at_once(tmp_path: Path) -> None:
    async with serving_people(tmp_path) as people:
        elsewhere = await Store.open(tmp_path / "conversations.db")
        _, key = await elsewhere.keys.create("laptop", "alice", "user")
        async with api_client(people.server.url, key) as laptop:
            assert (await laptop.get("/api/conversations")).status == 200
        _, key = await elsewhere.keys.create("phone", "alice", "user")
        async with api_client(people.server.url) as page:
            assert (await page.post("/api/login", json={"key": key})).status == 200
        await elsewhere.close()
