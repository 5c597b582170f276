"""Folders and tags, and changes of several conversations at once, over a real socket."""

import json
from typing import Any

import aiohttp

from tests.integration.conversations_client import created, error_of, read


async def folder(http: aiohttp.ClientSession, name: str, **fields: str | None) -> str:
    response = await http.post("/api/folders", json={"name": name, **fields})
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


async def test_nul_in_a_tag_breaks_no_filter(http: aiohttp.ClientSession) -> None:
    odd = await created(http, title="Odd", tags=["a\0", "\0b\0\0c"])
    sea = await created(http, title="Sea", tags=["sea"])
    for tag, expected in (("sea", [sea]), ("a", [odd]), ("b c", [odd]), ("\0", [])):
        assert [each["id"] for each in (await read(http, "/api/conversations", tag=tag))["data"]] == expected, tag
        found = await read(http, "/api/search", q="odd sea", tag=tag)
        assert found["messages"] == []
    refused = await http.patch(f"/api/conversations/{odd}", json={"tags": ["\0"]})
    assert (await error_of(refused, 400))["param"].startswith("tags")


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


async def test_list_of_folder_or_top_is_paged_by_offset(http: aiohttp.ClientSession) -> None:
    sea = await folder(http, "Sea")
    free, filed = await created(http), await created(http, folder_id=sea, tags=["tide"])
    pinned = await created(http, folder_id=sea, pinned=True)
    for query, expected in (
        ({"shown_in": "top"}, [pinned, free]),
        ({"shown_in": sea}, [pinned, filed]),
        ({"shown_in": "top", "pinned": "false"}, [free]),
    ):
        page = await read(http, "/api/conversations", **query, offset="0")
        assert ([each["id"] for each in page["data"]], page["total"]) == (expected, len(expected)), query
    last = await read(http, "/api/conversations", shown_in="top", offset="1", limit="1")
    assert ([each["id"] for each in last["data"]], last["total"], last["next_cursor"]) == ([free], 2, None)
    first = await read(http, "/api/conversations", limit="1")
    assert "total" not in first
    both = await http.get("/api/conversations", params={"cursor": first["next_cursor"], "offset": "0"})
    assert (await error_of(both, 400))["param"] == "offset"
    folders = await read(http, "/api/folders")
    assert (folders["counts"], folders["tags"]) == ({sea: 2}, ["tide"])


async def test_chosen_chats_are_exported_with_folder_and_tags(http: aiohttp.ClientSession) -> None:
    sea = await folder(http, "Sea", system_prompt="Speak of the sea.")
    one, two = await created(http, title="One", folder_id=sea, tags=["a"]), await created(http, title="Two")
    await created(http, title="Three")
    response = await http.post("/api/export", json={"conversation_ids": [two, one, "conv_none"]})
    whole = json.loads(await response.text())
    assert [(each["title"], each["folder"], each["tags"]) for each in whole["conversations"]] == [
        ("Two", [], []),
        ("One", ["Sea"], ["a"]),
    ]
    await http.delete(f"/api/folders/{sea}")
    [copy, filed] = (await (await http.post("/api/import?duplicates=true", json=whole)).json())["imported"]
    [again] = (await read(http, "/api/folders"))["data"]
    chats = await listed(http)
    assert (again["name"], again["system_prompt"]) == ("Sea", "Speak of the sea.")
    assert (chats[filed]["folder_id"], chats[filed]["tags"]) == (again["id"], ["a"])
    assert chats[copy]["folder_id"] is None


async def test_many_chosen_chats_are_exported_with_a_line_for_each(http: aiohttp.ClientSession) -> None:
    chat = await created(http, title="One\nof many")
    ids = [*(f"conv_{number}" for number in range(600)), chat]
    text = await (await http.post("/api/export", json={"conversation_ids": ids})).text()
    assert [each["title"] for each in json.loads(text)["conversations"]] == ["One\nof many"]
    assert text.count("\n") == 3, "before each chat, before the end and after it"


async def test_deleted_chats_are_counted_on_the_first_page(http: aiohttp.ClientSession) -> None:
    chats = [await created(http) for _ in range(3)]
    await bulk(http, *chats, deleted=True)
    first = await read(http, "/api/deleted-conversations", limit="2")
    assert (len(first["data"]), first["total"]) == (2, 3)
    second = await read(http, "/api/deleted-conversations", limit="2", cursor=first["next_cursor"])
    assert (len(second["data"]), second["next_cursor"], "total" in second) == (1, None, False)
    assert (await read(http, "/api/deleted-messages")) == {"data": [], "next_cursor": None}
    wrong = await http.get("/api/deleted-messages", params={"cursor": "x"})
    assert (await error_of(wrong, 400))["param"] == "cursor"


async def test_folders_are_inside_each_other(http: aiohttp.ClientSession) -> None:
    sea = await folder(http, "Sea", system_prompt="Speak of the sea.")
    coast = await folder(http, "Coast", parent_id=sea)
    cliff = await folder(http, "Sea", parent_id=coast, system_prompt="Speak of cliffs.")
    below, above = await created(http, folder_id=coast), await created(http, folder_id=cliff)
    own, none = await created(http, folder_id=coast, system_prompt="Mine."), await created(http, system_prompt=None)
    prompts = [(await read(http, f"/api/conversations/{each}"))["system_prompt"] for each in (below, above, own, none)]
    assert prompts == ["Speak of the sea.", "Speak of cliffs.", "Mine.", None]
    inside = await read(http, "/api/conversations", folder_id=sea)
    assert {each["id"] for each in inside["data"]} == {below, above, own}

    taken = await http.post("/api/folders", json={"name": "Coast", "parent_id": sea})
    assert (await error_of(taken, 409))["code"] == "folder_exists"
    for parent, code in ((cliff, "folder_in_itself"), (coast, "folder_in_itself"), ("folder_none", "folder_not_found")):
        refused = await http.put(f"/api/folders/{coast}", json={"name": "Coast", "parent_id": parent})
        error = await error_of(refused, 400)
        assert (error["param"], error["code"]) == ("parent_id", code)
    deep = await folder(http, "5", parent_id=await folder(http, "4", parent_id=cliff))
    too_deep = await http.post("/api/folders", json={"name": "6", "parent_id": deep})
    assert (await error_of(too_deep, 400))["code"] == "folder_too_deep"
    other = await folder(http, "Other")
    moved = await http.put(f"/api/folders/{sea}", json={"name": "Sea", "parent_id": other})
    assert (await error_of(moved, 400))["code"] == "folder_too_deep"

    exported = await (await http.post("/api/export", json={"conversation_ids": [above]})).json(content_type=None)
    assert exported["conversations"][0]["folder"] == ["Sea", "Coast", "Sea"]
    assert exported["folders"] == [
        {"path": ["Sea"], "system_prompt": "Speak of the sea."},
        {"path": ["Sea", "Coast", "Sea"], "system_prompt": "Speak of cliffs."},
    ]
    [copy] = (await (await http.post("/api/import?duplicates=true", json=exported)).json())["imported"]
    assert (await listed(http))[copy]["folder_id"] == cliff

    assert (await http.delete(f"/api/folders/{coast}")).status == 204
    chats = await listed(http)
    assert [chats[each]["folder_id"] for each in (below, above)] == [sea, cliff]
    places = {each["id"]: each["parent_id"] for each in (await read(http, "/api/folders"))["data"]}
    assert (places[cliff], coast in places) == (sea, False)
    twin = await folder(http, "Sea", parent_id=cliff)
    await folder(http, "Next", parent_id=twin)
    assert (await http.delete(f"/api/folders/{cliff}")).status == 204
    await folder(http, "Next")
    nested = await folder(http, "Next", parent_id=sea)
    await folder(http, "Next", parent_id=nested)
    clash = await http.delete(f"/api/folders/{sea}")
    assert (await error_of(clash, 409))["code"] == "folder_exists"
    assert (await listed(http))[below]["folder_id"] == sea


async def test_search_of_a_folder_looks_into_those_inside_it(http: aiohttp.ClientSession) -> None:
    sea = await folder(http, "Sea")
    coast = await folder(http, "Coast", parent_id=sea)
    filed = await created(http, title="Tidewater", folder_id=coast)
    await created(http, title="Tidewater elsewhere")
    found = await read(http, "/api/search", q="Tidewater", folder_id=sea)
    assert [each["id"] for each in found["conversations"]] == [filed]
