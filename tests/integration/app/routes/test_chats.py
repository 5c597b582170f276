"""Versions, ratings, merged answers, drafts, lists and searches of conversations, over a real socket."""

import json
from io import BytesIO
from typing import Any

import aiohttp
import pytest

from app.domain.bounds import MAX_BODY_BYTES
from engine.testing.replay_engine import ReplayEngine
from tests.integration.api_server import RunningServer
from tests.integration.conversations_client import created, error_of, read, said, shown
from tests.integration.sse_events import all_events, events

Api = RunningServer[ReplayEngine]


async def test_only_a_finished_answer_can_be_edited(http: aiohttp.ClientSession) -> None:
    conversation = await created(http)
    answer = await said(http, conversation, "one")
    edit = f"/api/messages/{answer['parent_id']}/edit"
    assert (await error_of(await http.post(edit, json={"content": "x"}), 400))["param"] == "id"
    edit = f"/api/messages/{answer['id']}/edit"
    assert (await error_of(await http.post(edit, json={"content": ""}), 400))["param"] == "content"
    taken = {"id": answer["parent_id"], "content": "x"}
    assert (await error_of(await http.post(edit, json=taken), 409))["code"] == "message_exists"


async def test_merged_answer_is_one_more_answer_to_the_question(http: aiohttp.ClientSession, api: Api) -> None:
    conversation = await created(http)
    first = await said(http, conversation, "one")
    retry = f"/api/messages/{first['id']}/retry"
    second = (await all_events(await http.post(retry, json={"params": {"seed": 2}})))[-1].data["message"]
    body = {"id": "msg_0123456789abcdef", "merge": [first["id"], second["id"]]}
    for _ in range(2):
        merged = (await all_events(await http.post(retry, json=body)))[-1].data["message"]
    assert (merged["id"], merged["merged"], merged["parent_id"]) == (body["id"], 2, first["parent_id"])
    prompt = api.engine.tokenizer.describe(api.engine.requests[-1].prompt)
    other = prompt.index("Answer 2:\n" + second["content"].strip())
    assert prompt.index("one") < prompt.index(first["content"]) < other
    assert (await shown(http, conversation))["messages"][-1]["sibling_ids"] == [first["id"], second["id"], merged["id"]]
    await said(http, conversation, "two")
    prompt = api.engine.tokenizer.describe(api.engine.requests[-1].prompt)
    assert merged["content"] in prompt
    assert "Answer 2" not in prompt


async def test_answer_has_its_own_instructions(http: aiohttp.ClientSession, api: Api) -> None:
    conversation = await created(http, system_prompt="Speak of rivers.")
    first = await said(http, conversation, "one")
    retry = f"/api/messages/{first['id']}/retry"

    async def answered(**params: Any) -> tuple[str, dict[str, Any]]:
        message = (await all_events(await http.post(retry, json={"params": params})))[-1].data["message"]
        return api.engine.tokenizer.describe(api.engine.requests[-1].prompt), message

    prompt, answer = await answered(system_prompt="Speak of gulls.")
    assert "gulls" in prompt
    assert "rivers" not in prompt
    assert (await shown(http, conversation))["messages"][-1]["params"]["system_prompt"] == "Speak of gulls."
    prompt, _ = await answered(system_prompt="")
    assert "Speak" not in prompt
    prompt, plain = await answered(seed=2)
    assert "rivers" in prompt
    assert "system_prompt" not in plain["params"]
    await said(http, conversation, "two", parent_id=answer["id"])
    prompt = api.engine.tokenizer.describe(api.engine.requests[-1].prompt)
    assert "rivers" in prompt
    assert "gulls" not in prompt
    assert answer["content"] in prompt


async def test_cut_answer_continues_with_its_own_instructions(http: aiohttp.ClientSession, api: Api) -> None:
    conversation = await created(http, system_prompt="Speak of rivers.")
    first = await said(http, conversation, "one")
    body = {"params": {"max_tokens": 2, "system_prompt": "Speak of gulls."}}
    response = await http.post(f"/api/messages/{first['id']}/retry", json=body)
    cut = (await all_events(response))[-1].data["message"]
    begun = api.engine.requests[-1].prompt
    assert cut["status"] == "incomplete"
    response = await http.post(f"/api/messages/{cut['id']}/continue")
    whole = (await all_events(response))[-1].data["message"]
    assert api.engine.requests[-1].prompt == begun
    assert whole["params"]["system_prompt"] == "Speak of gulls."
    assert whole["status"] == "complete"


async def test_only_answers_to_the_question_are_merged(http: aiohttp.ClientSession) -> None:
    conversation = await created(http)
    first = await said(http, conversation, "one")
    second = await said(http, conversation, "two")
    retry = f"/api/messages/{first['id']}/retry"
    for merge, param in (
        ([first["id"]], "merge"),
        ([first["id"], first["id"]], "merge"),
        ([first["id"], second["id"]], "merge[1]"),
        (["msg_none", first["id"]], "merge[0]"),
        ([first["parent_id"], first["id"]], "merge[0]"),
    ):
        assert (await error_of(await http.post(retry, json={"merge": merge}), 400))["param"] == param
    assert len((await shown(http, conversation))["messages"]) == 4


async def test_answer_is_rated_until_rating_is_removed(http: aiohttp.ClientSession) -> None:
    conversation = await created(http)
    answer = await said(http, conversation, "one")
    url = f"/api/messages/{answer['id']}/rating"

    async def rated() -> tuple[str | None, str | None]:
        [_, shown_answer] = (await shown(http, conversation))["messages"]
        return shown_answer["rating"], shown_answer["rating_note"]

    assert await rated() == (None, None)
    versions = list[int]()
    for rating, note in (("good", None), ("bad", "Too long."), ("bad", "Too long."), (None, "dropped")):
        response = await http.put(url, json={"rating": rating, "note": note})
        versions.append((await response.json())["version"])
        assert await rated() == (rating, note if rating else None)
    assert [version - versions[0] for version in versions] == [0, 1, 1, 2]


async def test_only_a_finished_answer_can_be_rated(http: aiohttp.ClientSession) -> None:
    conversation = await created(http)
    answer = await said(http, conversation, "one")
    rating = {"rating": "good"}
    question = f"/api/messages/{answer['parent_id']}/rating"
    assert (await error_of(await http.put(question, json=rating), 400))["param"] == "id"
    url = f"/api/messages/{answer['id']}/rating"
    assert (await error_of(await http.put(url, json={"rating": "fine"}), 400))["param"] == "rating"
    assert (await error_of(await http.put(url, json=rating | {"note": "x" * 2001}), 400))["param"] == "note"
    unknown = "/api/messages/msg_0123456789abcdef/rating"
    assert (await error_of(await http.put(unknown, json=rating), 404))["code"] == "message_not_found"


async def test_exports_keep_ratings_and_forks_drop_them(http: aiohttp.ClientSession) -> None:
    conversation = await created(http)
    answer = await said(http, conversation, "one")
    await http.put(f"/api/messages/{answer['id']}/rating", json={"rating": "bad", "note": "Too long."})
    exported = await read(http, f"/api/conversations/{conversation}/export")
    outcome = await (await http.post("/api/import?duplicates=true", json=exported)).json()
    [copy] = outcome["imported"]
    [_, kept] = (await shown(http, copy))["messages"]
    assert (kept["rating"], kept["rating_note"]) == ("bad", "Too long.")
    fork = await http.post(f"/api/conversations/{conversation}/fork", json={"message_id": answer["id"]})
    [_, dropped] = (await shown(http, (await fork.json())["id"]))["messages"]
    assert (dropped["rating"], dropped["rating_note"]) == (None, None)


async def test_responses_carry_version_as_field_and_etag(http: aiohttp.ClientSession) -> None:
    made = await http.post("/api/conversations", json={})
    body = await made.json()
    assert (made.headers["ETag"], body["version"]) == ('"1"', 1)
    await said(http, body["id"], "one")
    found = await http.get(f"/api/conversations/{body['id']}")
    assert (found.headers["ETag"], (await found.json())["version"]) == ('"2"', 2)


async def test_stale_if_match_is_refused_with_current_version(http: aiohttp.ClientSession) -> None:
    conversation = await created(http)
    url = f"/api/conversations/{conversation}"
    answer = await said(http, conversation, "one")
    stale = {"If-Match": '"1"'}
    attempts: list[tuple[str, str, dict[str, Any] | None]] = [
        ("PATCH", url, {"title": "x"}),
        ("DELETE", url, None),
        ("PUT", f"{url}/head", {"message_id": answer["id"]}),
        ("DELETE", f"/api/messages/{answer['id']}", None),
        ("POST", f"{url}/messages", {"content": "two"}),
        ("POST", f"/api/messages/{answer['id']}/retry", {}),
    ]
    for method, path, body in attempts:
        refused = await http.request(method, path, json=body, headers=stale)
        error = await error_of(refused, 412)
        assert (error["code"], error["param"]) == ("version_mismatch", "If-Match")
        assert "version 2" in error["message"]
        assert ((await refused.json())["version"], refused.headers["ETag"]) == (2, '"2"')
    assert (await shown(http, conversation))["version"] == 2


@pytest.mark.parametrize("tag", ['"2"', 'W/"2"', '"1", "2"', "*"])
async def test_current_if_match_allows_the_change(http: aiohttp.ClientSession, tag: str) -> None:
    conversation = await created(http)
    await said(http, conversation, "one")
    changed = await http.patch(f"/api/conversations/{conversation}", json={"title": "x"}, headers={"If-Match": tag})
    assert (changed.status, changed.headers["ETag"]) == (200, '"3"')


@pytest.mark.parametrize("tag", ["2", '"two"', "", '"1"'])
async def test_unknown_etag_matches_no_version(http: aiohttp.ClientSession, tag: str) -> None:
    conversation = await created(http)
    await said(http, conversation, "one")
    refused = await http.patch(f"/api/conversations/{conversation}", json={"title": "x"}, headers={"If-Match": tag})
    assert refused.status == 412


async def test_end_of_own_run_does_not_invalidate_the_version(http: aiohttp.ClientSession, api: Api) -> None:
    conversation = await created(http)
    api.engine.hold()
    stream = events(await http.post(f"/api/conversations/{conversation}/messages", json={"content": "one"}))
    seen = (await anext(stream)).data["conversation"]["version"]
    api.engine.allow(None)
    assert [event async for event in stream][-1].kind == "done"
    renamed = await http.patch(
        f"/api/conversations/{conversation}", json={"title": "x"}, headers={"If-Match": f'"{seen}"'}
    )
    assert renamed.status == 200


async def test_deleted_conversation_is_hidden_and_restored_unchanged(http: aiohttp.ClientSession) -> None:
    conversation = await created(http, title="Tides")
    await said(http, conversation, "about the sea")
    before = await shown(http, conversation)
    assert (await http.delete(f"/api/conversations/{conversation}")).status == 204
    assert (await http.get(f"/api/conversations/{conversation}")).status == 404
    assert (await http.delete(f"/api/conversations/{conversation}")).status == 404
    assert (await read(http, "/api/conversations"))["data"] == []
    found = await read(http, "/api/search", q="sea")
    assert (found["conversations"], found["messages"]) == ([], [])
    assert (await http.post(f"/api/messages/{before['head_id']}/retry")).status == 404
    restored = await http.post(f"/api/conversations/{conversation}/restore")
    assert restored.status == 200
    assert {**(await shown(http, conversation)), "version": 0} == {**before, "version": 0}
    assert (await http.post(f"/api/conversations/{conversation}/restore")).status == 200
    assert (await http.post("/api/conversations/conv_none/restore")).status == 404


async def test_permanently_deleted_conversation_cannot_be_restored(http: aiohttp.ClientSession) -> None:
    conversation = await created(http)
    await said(http, conversation, "one")
    assert (await http.delete(f"/api/conversations/{conversation}?permanently=true")).status == 204
    assert (await http.post(f"/api/conversations/{conversation}/restore")).status == 404
    wrong = await http.delete(f"/api/conversations/{conversation}?permanently=maybe")
    assert (await error_of(wrong, 400))["param"] == "permanently"


async def put_text(http: aiohttp.ClientSession, path: str, text: str) -> aiohttp.ClientResponse:
    # aiohttp warns of a large body that is not a file.
    body = BytesIO(json.dumps({"text": text}).encode())
    return await http.put(path, data=body, headers={"Content-Type": "application/json"})


async def test_drafts_are_kept_per_conversation_and_for_new_chats(http: aiohttp.ClientSession) -> None:
    conversation = await created(http)
    for path in (f"/api/conversations/{conversation}/draft", "/api/draft"):
        assert await read(http, path) == {"text": "", "updated_at": None}
        assert (await http.put(path, json={"text": "typed"})).status == 200
        assert (await read(http, path))["text"] == "typed"
        largest = "x" * (MAX_BODY_BYTES - len('{"text": ""}'))
        assert (await put_text(http, path, largest + "x")).status == 413
        assert (await put_text(http, path, largest)).status == 200
        assert (await read(http, path))["text"] == largest
        assert (await put_text(http, path, "typed")).status == 200
    await said(http, conversation, "sent")
    assert (await read(http, f"/api/conversations/{conversation}/draft"))["text"] == ""
    assert (await read(http, "/api/draft"))["text"] == "typed"
    for path in ("/api/conversations/conv_none/draft",):
        assert (await http.get(path)).status == (await http.put(path, json={"text": "x"})).status == 404


async def test_list_supports_paging_pins_and_archive(http: aiohttp.ClientSession) -> None:
    made = [await created(http, title=str(index)) for index in range(5)]
    for index, marks in ((0, {"pinned": True}), (1, {"archived": True})):
        changed = await (await http.patch(f"/api/conversations/{made[index]}", json=marks)).json()
        assert (changed["pinned"], changed["archived"]) == (index == 0, index == 1)
    first = await read(http, "/api/conversations", limit="2")
    assert [each["title"] for each in first["data"]] == ["0", "4"]
    second = await read(http, "/api/conversations", limit="2", cursor=first["next_cursor"])
    assert ([each["title"] for each in second["data"]], second["next_cursor"]) == (["3", "2"], None)
    archived = await read(http, "/api/conversations", archived="true")
    assert [each["title"] for each in archived["data"]] == ["1"]


@pytest.mark.parametrize(
    ("path", "param"),
    [
        ("/api/conversations?limit=0", "limit"),
        ("/api/conversations?limit=many", "limit"),
        ("/api/conversations?limit=501", "limit"),
        ("/api/conversations?archived=yes", "archived"),
        ("/api/conversations?cursor=abc", "cursor"),
        ("/api/conversations?cursor=" + "W1tb" * 1000, "cursor"),
        ("/api/conversations?cursor=WzEsMiwzXQ", "cursor"),
        ("/api/search", "q"),
        ("/api/search?q=%20", "q"),
        ("/api/search?q=" + "x" * 257, "q"),
        ("/api/search?q=x&limit=101", "limit"),
        ("/api/search?q=x&cursor=-1", "cursor"),
        ("/api/search?q=x&role=system", "role"),
        ("/api/search?q=x&since=1e9", "since"),
        ("/api/search?q=x&until=1767225600000", "until"),
        ("/api/search?q=x&archived=1", "archived"),
    ],
)
async def test_invalid_query_is_refused_naming_the_parameter(
    http: aiohttp.ClientSession, path: str, param: str
) -> None:
    assert (await error_of(await http.get(path), 400))["param"] == param


async def test_search_pages_through_titles_and_messages(http: aiohttp.ClientSession) -> None:
    conversation = await created(http, title="Of tides")
    for index in range(3):
        await said(http, conversation, f"tide {index}")
    await http.patch(f"/api/conversations/{conversation}", json={"archived": True})
    first = await read(http, "/api/search", q="tid", limit="2")
    [title] = first["conversations"]
    assert (title["id"], title["snippet"]) == (conversation, {"text": "Of tides", "matches": [[3, 8]]})
    assert [hit["snippet"]["text"] for hit in first["messages"]] == ["tide 2", "tide 1"]
    assert first["messages"][0]["conversation"] == {"id": conversation, "title": "Of tides", "archived": True}
    assert first["messages"][0]["role"] == "user"
    second = await read(http, "/api/search", q="tid", limit="2", cursor=first["next_cursor"])
    assert (second["conversations"], second["next_cursor"]) == ([], None)
    assert [hit["snippet"]["text"] for hit in second["messages"]] == ["tide 0"]


async def test_search_corrects_a_typo_if_nothing_is_found(http: aiohttp.ClientSession) -> None:
    conversation = await created(http, title="Of tides")
    await said(http, conversation, "harbour one")
    exact = await read(http, "/api/search", q="harbour")
    assert exact["corrected"] is None
    assert await read(http, "/api/search", q="harbuor") == {**exact, "corrected": "harbour"}
    [title] = (await read(http, "/api/search", q="tidse"))["conversations"]
    assert title["snippet"] == {"text": "Of tides", "matches": [[3, 8]]}
    for filters in ({"tag": "moon"}, {"cursor": "1"}):
        nothing = await read(http, "/api/search", q="harbuor", **filters)
        assert (nothing["messages"], nothing["corrected"]) == ([], None)


async def test_search_keeps_to_its_filters(http: aiohttp.ClientSession) -> None:
    conversation = await created(http, title="Of tides")
    other = await created(http, title="Tides of another year")
    await said(http, conversation, "tide one")
    await said(http, other, "tide two")
    folder = (await (await http.post("/api/folders", json={"name": "Sea"})).json())["id"]
    changes = {"folder_id": folder, "tags": ["moon", "harbour"], "archived": True}
    await http.patch(f"/api/conversations/{conversation}", json=changes)
    moment = (await read(http, f"/api/conversations/{other}"))["messages"][0]["created_at"]

    async def search(**filters: str) -> tuple[list[str], list[str]]:
        found = await read(http, "/api/search", q="tide", **filters)
        titles = [each["title"] for each in found["conversations"]]
        return titles, [each["snippet"]["text"] for each in found["messages"]]

    first, second = (["Of tides"], ["tide one"]), (["Tides of another year"], ["tide two"])
    assert await search(folder_id=folder) == await search(tag="moon") == await search(archived="true") == first
    assert await search(archived="false") == second
    assert await search(tag="moo") == await search(folder_id="folder_none") == ([], [])
    assert (await search(since=repr(moment)))[1] == ["tide two"]
    assert (await search(until=repr(moment)))[1] == ["tide one"]
    assert await search(role="user") == ([], ["tide two", "tide one"])
    assert await search(role="assistant", tag="moon") == ([], [])
