"""Folders and tags, and changes of several conversations at once, over a real socket."""

import json
from typing import Any

import aiohttp

from tests.integration.conversations_client import created, error_of, read


async def folder(http: aiohttp.ClientSession, name: str) -> str:
    response = await http.post("/api/folders", json={"name": name})
    assert response.status == 201, await response.text()
    made: dict[str, str] = await response.json()
    return made["id"]


async def bulk(http: aiohttp.ClientSession, *ids: str, **changes: Any) -> dict[str, Any]:
    response = await http.post("/api/conversations/bulk", json={"conversation_ids": ids, **changes})
    assert response.status == 200, await response.text()
    result: dict[str, Any] = await response.json()
    return result


async def listed(http: aiohttp.ClientSession) -> dict[str, dict[str, Any]]:
    return {each["id"]: each for each in (await read(http, "/api/conversations"))["data"]}


async def test_folder_outlives_its_chats_and_they_outlive_it(http: aiohttp.ClientSession) -> None:
    sea, land = await folder(http, "Sea"), await folder(http, "Land")
    conversation = await created(http, title="Tides", folder_id=sea, tags=["a", " b  c ", "a"])
    before = (await listed(http))[conversation]
    assert (before["folder_id"], before["tags"]) == (sea, ["a", "b c"])
    changed = await http.patch(f"/api/conversations/{conversation}", json={"folder_id": land, "tags": None})
    after = await changed.json()
    assert (after["folder_id"], after["tags"], after["updated_at"]) == (land, [], before["updated_at"])
    assert [each["name"] for each in (await read(http, "/api/folders"))["data"]] == ["Land", "Sea"]
    assert (await http.put(f"/api/folders/{sea}", json={"name": "Land"})).status == 409
    assert (await http.put(f"/api/folders/{sea}", json={"name": "Ocean"})).status == 200
    assert (await http.delete(f"/api/folders/{land}")).status == 204
    assert (await listed(http))[conversation]["folder_id"] is None
    error = await error_of(await http.patch(f"/api/conversations/{conversation}", json={"folder_id": land}), 400)
    assert (error["param"], error["code"]) == ("folder_id", "folder_not_found")
    for tags in (["x" * 51], [" "], [str(index) for index in range(21)]):
        refused = await http.patch(f"/api/conversations/{conversation}", json={"tags": tags})
        assert (await error_of(refused, 400))["param"].startswith("tags")


async def test_several_chats_are_changed_deleted_and_restored(http: aiohttp.ClientSession) -> None:
    sea = await folder(http, "Sea")
    one, two, other = await created(http, tags=["old"]), await created(http), await created(http)
    result = await bulk(http, one, two, "conv_none", one, folder_id=sea, add_tags=["new"], remove_tags=["old"])
    assert result == {"changed": [one, two], "missing": ["conv_none"]}
    chats = await listed(http)
    assert [(chats[each]["folder_id"], chats[each]["tags"]) for each in (one, two, other)] == [
        (sea, ["new"]),
        (sea, ["new"]),
        (None, []),
    ]
    await bulk(http, one, two, folder_id=None, archived=True)
    archived = (await read(http, "/api/conversations", archived="true"))["data"]
    assert {(each["id"], each["folder_id"]) for each in archived} == {(one, None), (two, None)}
    assert (await bulk(http, one, other, deleted=True))["changed"] == [one, other]
    assert await listed(http) == {}
    assert await bulk(http, one, "conv_none", deleted=False) == {"changed": [one], "missing": ["conv_none"]}
    tags = [f"tag {index}" for index in range(20)]
    wrong = await http.post("/api/conversations/bulk", json={"conversation_ids": [two, one], "add_tags": tags})
    assert (await error_of(wrong, 400))["param"] == "add_tags"
    assert (await http.post("/api/conversations/bulk", json={"conversation_ids": []})).status == 400


async def test_list_is_limited_to_a_folder_or_a_tag(http: aiohttp.ClientSession) -> None:
    folder = (await (await http.post("/api/folders", json={"name": "Coast"})).json())["id"]
    filed = await created(http, title="Filed", folder_id=folder)
    tagged = await created(http, title="Tagged", tags=['high "tide"', "sea"])
    both = await created(http, title="Both", folder_id=folder, tags=["sea"])
    for query, expected in (
        ({"folder_id": folder}, [both, filed]),
        ({"tag": "sea"}, [both, tagged]),
        ({"tag": 'high "tide"'}, [tagged]),
        ({"tag": "tide"}, []),
        ({"folder_id": folder, "tag": "sea"}, [both]),
        ({"folder_id": "folder_none"}, []),
    ):
        assert [each["id"] for each in (await read(http, "/api/conversations", **query))["data"]] == expected, query
    first = await read(http, "/api/conversations", tag="sea", limit="1")
    second = await read(http, "/api/conversations", tag="sea", limit="1", cursor=first["next_cursor"])
    assert [page["data"][0]["id"] for page in (first, second)] == [both, tagged]


async def test_chosen_chats_are_exported_with_folder_and_tags(http: aiohttp.ClientSession) -> None:
    sea = await folder(http, "Sea")
    one, two = await created(http, title="One", folder_id=sea, tags=["a"]), await created(http, title="Two")
    await created(http, title="Three")
    response = await http.post("/api/export", json={"conversation_ids": [two, one, "conv_none"]})
    whole = json.loads(await response.text())
    assert [(each["title"], each["folder"], each["tags"]) for each in whole["conversations"]] == [
        ("Two", None, []),
        ("One", "Sea", ["a"]),
    ]
    await http.delete(f"/api/folders/{sea}")
    [copy, filed] = (await (await http.post("/api/import?duplicates=true", json=whole)).json())["imported"]
    [again] = (await read(http, "/api/folders"))["data"]
    chats = await listed(http)
    assert again["name"] == "Sea"
    assert (chats[filed]["folder_id"], chats[filed]["tags"]) == (again["id"], ["a"])
    assert chats[copy]["folder_id"] is None
