"""Presets and saved prompts over a real socket."""

from dataclasses import replace
from typing import Any

import aiohttp
import pytest

from app.domain.bounds import MAX_SAVED_PROMPT_LENGTH
from app.storage.library import PRESETS, SAVED_PROMPTS
from app.tenants.limits import TenantLimits
from engine.testing.replay_engine import ReplayEngine
from tests.integration.api_server import RunningServer
from tests.integration.conversations_client import error_of, read

Api = RunningServer[ReplayEngine]


async def preset_of(http: aiohttp.ClientSession, **fields: Any) -> dict[str, Any]:
    response = await http.post("/api/presets", json=fields)
    assert response.status == 201, await response.text()
    preset: dict[str, Any] = await response.json()
    return preset


async def test_presets_are_listed_by_name_with_all_fields(http: aiohttp.ClientSession) -> None:
    wild = await preset_of(http, name="wild", params={"temperature": 1.5}, model="any-model")
    brief = await preset_of(http, name="Brief", system_prompt="Be brief.")
    assert (await read(http, "/api/presets"))["data"] == [brief, wild]
    assert wild == {
        "id": wild["id"],
        "name": "wild",
        "system_prompt": None,
        "params": {"temperature": 1.5},
        "model": "any-model",
        "is_default": False,
    }


async def test_new_default_replaces_former_one(http: aiohttp.ClientSession) -> None:
    first = await preset_of(http, name="First", is_default=True)
    await preset_of(http, name="Second", is_default=True)
    found = (await read(http, "/api/presets"))["data"]
    assert [(each["name"], each["is_default"]) for each in found] == [("First", False), ("Second", True)]
    changed = await http.put(f"/api/presets/{first['id']}", json={"name": "First", "is_default": True})
    assert (await changed.json())["is_default"]
    found = (await read(http, "/api/presets"))["data"]
    assert [(each["name"], each["is_default"]) for each in found] == [("First", True), ("Second", False)]


async def test_refused_default_leaves_former_one(http: aiohttp.ClientSession) -> None:
    await preset_of(http, name="First", is_default=True)
    refused = await http.put("/api/presets/preset_none", json={"name": "Other", "is_default": True})
    assert (await error_of(refused, 404))["code"] == "preset_not_found"
    assert (await read(http, "/api/presets"))["data"][0]["is_default"]


async def test_name_is_used_once(http: aiohttp.ClientSession) -> None:
    await preset_of(http, name="Calm")
    other = await preset_of(http, name="Other")
    for response in (
        await http.post("/api/presets", json={"name": "Calm"}),
        await http.put(f"/api/presets/{other['id']}", json={"name": "Calm"}),
    ):
        assert (await error_of(response, 409))["code"] == "preset_exists"


async def test_presets_are_bounded_and_counted(
    http: aiohttp.ClientSession, api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = api.services.store
    monkeypatch.setattr(store.presets, "_kind", replace(PRESETS, maximum=1))
    preset = await preset_of(http, name="Calm", system_prompt="é" * 10)
    assert await store.limits.stored_bytes() == {store.tenant: 256 + 4 + 20 + 2}
    refused = await http.post("/api/presets", json={"name": "Other"})
    assert (await error_of(refused, 409))["code"] == "too_many_presets"
    await http.put(f"/api/presets/{preset['id']}", json={"name": "C"})
    assert await store.limits.stored_bytes() == {store.tenant: 256 + 1 + 2}
    await store.limits.set(store.tenant, TenantLimits(stored_bytes=300))
    refused = await http.put(f"/api/presets/{preset['id']}", json={"name": "C", "system_prompt": "x" * 100})
    assert (await error_of(refused, 429))["code"] == "stored_bytes_limit"
    assert (await http.delete(f"/api/presets/{preset['id']}")).status == 204
    assert await store.limits.stored_bytes() == {}


async def test_presets_go_with_their_tenant(http: aiohttp.ClientSession, api: Api) -> None:
    await preset_of(http, name="Calm")
    await api.services.store.deletions.remove_all()
    assert (await read(http, "/api/presets"))["data"] == []


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
    store = api.services.store
    monkeypatch.setattr(store.saved_prompts, "_kind", replace(SAVED_PROMPTS, maximum=1))
    long = {"name": "Long", "text": "x" * (MAX_SAVED_PROMPT_LENGTH + 1)}
    assert (await error_of(await http.post("/api/prompts", json=long), 400))["param"] == "text"
    assert (await http.post("/api/prompts", json={"name": "Calm", "text": "é"})).status == 201
    assert await store.limits.stored_bytes() == {store.tenant: 256 + 4 + 2}
    refused = await http.post("/api/prompts", json={"name": "Other", "text": "x"})
    assert (await error_of(refused, 409))["code"] == "too_many_prompts"
    await store.deletions.remove_all()
    assert (await read(http, "/api/prompts"))["data"] == []
    assert await store.limits.stored_bytes() == {}
