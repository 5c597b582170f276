"""Chats from before the first key, which the first administrator's key may take over."""

from pathlib import Path

import aiohttp

from engine.testing.replay_engine import ReplayEngine
from tests.integration.api_server import api_client, running_server
from tests.integration.conversations_client import created, error_of, read, said

ROUTE = "/api/account/former-chats"


async def taken(client: aiohttp.ClientSession) -> int:
    response = await client.post(ROUTE)
    assert response.status == 200, await response.text()
    return int((await response.json())["chats"])


async def test_first_admin_key_takes_over_chats_from_before(tmp_path: Path) -> None:
    async with running_server(tmp_path, ReplayEngine()) as server:
        async with api_client(server.url) as anybody:
            chat = await created(anybody, title="Sea")
            await said(anybody, chat, "When is high tide?")
            assert (await anybody.put(f"/api/conversations/{chat}/draft", json={"text": "and"})).status == 200
            coast = {"name": "Coast", "system_prompt": "Speak of the sea."}
            folder = (await (await anybody.post("/api/folders", json=coast)).json())["id"]
            await anybody.patch(f"/api/conversations/{chat}", json={"folder_id": folder})
            assert await read(anybody, ROUTE) == {"chats": 0, "unclaimed": False}
            for name in ("Calm", "Brief"):
                preset = {"name": name, "system_prompt": "Be brief.", "is_default": name == "Calm"}
                assert (await anybody.post("/api/presets", json=preset)).status == 201
            for path in ("/api/prompts", "/api/files"):
                assert (await anybody.post(path, json={"name": "Tides", "text": "High water"})).status == 201
        limits = server.services.store.limits
        [before] = (await limits.stored_bytes()).values()
        administration = server.services.access.administration
        _, user = await administration.create_key("alice", "alice", "user")
        _, first = await administration.create_key("root", "root", "admin")
        _, second = await administration.create_key("other", "other", "admin")
        for key in (user, second):
            async with api_client(server.url, key) as other:
                assert await read(other, ROUTE) == {"chats": 0, "unclaimed": True}
                assert (await error_of(await other.post(ROUTE), 403))["code"] == "forbidden"
                assert (await error_of(await other.delete(ROUTE), 403))["code"] == "forbidden"
        async with api_client(server.url, first) as root:
            assert await read(root, ROUTE) == {"chats": 1, "unclaimed": False}
            assert (await root.delete(ROUTE)).status == 204
            assert await read(root, ROUTE) == {"chats": 0, "unclaimed": False}
            assert (await root.post("/api/presets", json={"name": "Brief", "is_default": True})).status == 201
            assert await taken(root) == 1
            assert await taken(root) == 0
            assert [found["id"] for found in (await read(root, "/api/conversations"))["data"]] == [chat]
            assert (await read(root, f"/api/conversations/{chat}/draft"))["text"] == "and"
            [folder] = (await read(root, "/api/folders"))["data"]
            assert {name: folder[name] for name in coast} == coast
            assert (await read(root, f"/api/conversations/{chat}"))["folder_id"] == folder["id"]
            [found] = (await read(root, "/api/search", q="high tide"))["messages"]
            assert found["conversation"]["id"] == chat
            presets = (await read(root, "/api/presets"))["data"]
            assert [(each["name"], each["system_prompt"], each["is_default"]) for each in presets] == [
                ("Brief", None, True),
                ("Calm", "Be brief.", False),
            ]
            for path in ("/api/prompts", "/api/files"):
                assert [each["name"] for each in (await read(root, path))["data"]] == ["Tides"]
            await said(root, chat, "And low tide?")
        async with api_client(server.url, user) as other:
            assert (await read(other, "/api/search", q="high tide"))["messages"] == []
        sizes = await limits.stored_bytes()
        # The folder stays, and so does the preset whose name was taken.
        assert sizes["local"] < before / 4
        assert sizes["root"] > before
