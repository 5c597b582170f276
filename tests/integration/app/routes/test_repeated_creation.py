"""POST /api/conversations with an id of the client: repeated, since its response was lost or in doubt."""

import asyncio
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from app.domain.records import new_id
from tests.integration.conversations_client import error_of, read
from tests.integration.tenants import serving_people

RICH: dict[str, Any] = {
    "system_prompt": "Be brief.",
    "params": {"temperature": 0.3, "top_p": 1, "stop": ["END"], "logit_bias": {"7": -1.5}},
    "tags": ["sea", "sky"],
    "pinned": True,
    "first_message": "When is the tide?",
}


async def post(http: aiohttp.ClientSession, **fields: Any) -> tuple[int, dict[str, Any]]:
    response = await http.post("/api/conversations", json=fields)
    return response.status, await response.json()


async def ids(http: aiohttp.ClientSession) -> list[str]:
    return [each["id"] for each in (await read(http, "/api/conversations"))["data"]]


@pytest.mark.parametrize("fields", [{}, RICH, {"temporary": True}])
async def test_repeated_creation_answers_as_the_first(http: aiohttp.ClientSession, fields: dict[str, Any]) -> None:
    chat = new_id("conv")
    first = await post(http, id=chat, **fields)
    assert (first[0], first[1]["id"]) == (201, chat)
    assert await post(http, id=chat, **fields) == first
    assert await ids(http) == ([] if fields.get("temporary") else [chat])


async def test_simultaneous_creations_with_one_id_make_one_chat(http: aiohttp.ClientSession) -> None:
    chat = new_id("conv")
    replies = await asyncio.gather(*(post(http, id=chat, **RICH) for _ in range(5)))
    assert all(reply == replies[0] and reply[0] == 201 for reply in replies)
    assert await ids(http) == [chat]


async def test_repeated_creation_in_a_folder_takes_its_prompt(http: aiohttp.ClientSession) -> None:
    made = await (await http.post("/api/folders", json={"name": "Sea", "system_prompt": "Speak of the sea."})).json()
    chat = new_id("conv")
    first = await post(http, id=chat, folder_id=made["id"])
    assert first[1]["system_prompt"] == "Speak of the sea."
    assert await post(http, id=chat, folder_id=made["id"]) == first


async def test_other_content_under_a_taken_id_is_a_conflict(http: aiohttp.ClientSession) -> None:
    chat = new_id("conv")
    await post(http, id=chat, title="Tides")
    error = await error_of(await http.post("/api/conversations", json={"id": chat, "title": "Waves"}), 409)
    assert (error["param"], error["code"]) == ("id", "conversation_exists")
    await http.patch(f"/api/conversations/{chat}", json={"pinned": True})
    await error_of(await http.post("/api/conversations", json={"id": chat, "title": "Tides"}), 409)
    await http.delete(f"/api/conversations/{chat}")
    await error_of(await http.post("/api/conversations", json={"id": chat, "title": "Tides"}), 409)
    assert await ids(http) == []


@pytest.mark.parametrize("wrong", ["", "conv_1", "msg_" + "0" * 32, "conv_" + "G" * 32, "conv_" + "0" * 33, 7])
async def test_id_in_another_form_is_refused_by_name(http: aiohttp.ClientSession, wrong: object) -> None:
    error = await error_of(await http.post("/api/conversations", json={"id": wrong}), 400)
    assert error["param"] == "id"
    error = await error_of(await http.patch("/api/conversations/conv_1", json={"id": new_id("conv")}), 400)
    assert error["param"] == "id"


async def test_id_of_another_tenant_reveals_only_that_it_is_taken(tmp_path: Path) -> None:
    async with serving_people(tmp_path) as people:
        chat = new_id("conv")
        assert (await post(people.alice, id=chat, title="Tides"))[0] == 201
        own = await error_of(await people.alice.post("/api/conversations", json={"id": chat, "title": "Waves"}), 409)
        for title in ("Tides", "Waves"):
            body = {"id": chat, "title": title}
            assert await error_of(await people.bob.post("/api/conversations", json=body), 409) == own
        assert await ids(people.bob) == []
        assert (await read(people.alice, f"/api/conversations/{chat}"))["title"] == "Tides"
