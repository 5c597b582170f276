"""Saved prompts over a real socket."""

import aiohttp
import pytest

from app.domain.bounds import MAX_SAVED_PROMPT_LENGTH
from app.storage import saved_prompts
from engine.testing.replay_engine import ReplayEngine
from tests.integration.api_server import RunningServer
from tests.integration.conversations_client import error_of, read

Api = RunningServer[ReplayEngine]


async def test_saved_prompts_are_changed_listed_and_deleted(http: aiohttp.ClientSession) -> None:
    made = [
        await (await http.post("/api/prompts", json={"name": name, "text": f"{name} {{{{x}}}}"})).json()
        for name in ("Translate", "ask")
    ]
    assert (await read(http, "/api/prompts"))["data"] == made[::-1]
    path = f"/api/prompts/{made[0]['id']}"
    taken = await http.put(path, json={"name": "ask", "text": "x"})
    assert (await error_of(taken, 409))["code"] == "prompt_exists"
    assert (await http.put(path, json={"name": "T", "text": "New"})).status == 200
    assert (await http.delete(f"/api/prompts/{made[1]['id']}")).status == 204
    assert (await read(http, "/api/prompts"))["data"] == [{"id": made[0]["id"], "name": "T", "text": "New"}]
    assert (await http.delete(f"/api/prompts/{made[1]['id']}")).status == 404


async def test_saved_prompts_are_bounded_and_counted(
    http: aiohttp.ClientSession, api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(saved_prompts, "MAX_SAVED_PROMPTS", 1)
    store = api.services.store
    long = {"name": "Long", "text": "x" * (MAX_SAVED_PROMPT_LENGTH + 1)}
    assert (await error_of(await http.post("/api/prompts", json=long), 400))["param"] == "text"
    assert (await http.post("/api/prompts", json={"name": "Calm", "text": "é"})).status == 201
    assert await store.limits.stored_bytes() == {store.tenant: 256 + 4 + 2}
    refused = await http.post("/api/prompts", json={"name": "Other", "text": "x"})
    assert (await error_of(refused, 409))["code"] == "too_many_prompts"
    await store.deletions.remove_all()
    assert (await read(http, "/api/prompts"))["data"] == []
    assert await store.limits.stored_bytes() == {}
