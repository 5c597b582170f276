"""Kept files over a real socket."""

import aiohttp
import pytest

from app.domain.bounds import MAX_DOCUMENT_TEXT
from app.storage import library
from engine.testing.replay_engine import ReplayEngine
from tests.integration.api_server import RunningServer
from tests.integration.conversations_client import error_of, read

Api = RunningServer[ReplayEngine]


async def kept(http: aiohttp.ClientSession, name: str, text: str) -> str:
    response = await http.post("/api/files", json={"name": name, "text": text})
    assert response.status == 201, await response.text()
    body = await response.json()
    assert (body["name"], body["characters"]) == (name, len(text))
    return str(body["id"])


async def test_kept_files_are_listed_read_and_deleted(http: aiohttp.ClientSession) -> None:
    tides = await kept(http, "tides.txt", "High water at six.")
    winds = await kept(http, "winds.csv", "day,wind")
    listed = (await read(http, "/api/files"))["data"]
    assert [(each["id"], "text" in each) for each in listed] == [(winds, False), (tides, False)]
    assert (await read(http, f"/api/files/{tides}"))["text"] == "High water at six."
    assert (await http.delete(f"/api/files/{tides}")).status == 204
    assert (await error_of(await http.get(f"/api/files/{tides}"), 404))["code"] == "file_not_found"
    assert (await http.delete(f"/api/files/{tides}")).status == 404


async def test_file_of_the_same_name_is_replaced(http: aiohttp.ClientSession, api: Api) -> None:
    old = await kept(http, "tides.txt", "High water at six.")
    new = await kept(http, "tides.txt", "At seven.")
    assert [each["id"] for each in (await read(http, "/api/files"))["data"]] == [new]
    assert (await http.get(f"/api/files/{old}")).status == 404
    store = api.services.store
    assert await store.limits.stored_bytes() == {store.tenant: 256 + len("tides.txt") + len("At seven.")}


async def test_kept_files_are_bounded_and_counted(
    http: aiohttp.ClientSession, api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(library, "MAX_KEPT_FILES", 1)
    store = api.services.store
    long = {"name": "long.txt", "text": "x" * (MAX_DOCUMENT_TEXT + 1)}
    assert (await error_of(await http.post("/api/files", json=long), 400))["param"] == "text"
    await kept(http, "a.txt", "é")
    await kept(http, "a.txt", "è")
    refused = await http.post("/api/files", json={"name": "b.txt", "text": "x"})
    assert (await error_of(refused, 409))["code"] == "too_many_files"
    await store.deletions.remove_all()
    assert (await read(http, "/api/files"))["data"] == []
    assert await store.limits.stored_bytes() == {}
