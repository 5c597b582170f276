"""Export and import of conversations over a real socket."""

import copy
import json
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from engine.testing.byte_tokenizer import text_of
from engine.testing.replay_engine import FAILING, ReplayEngine
from tests.integration.api_server import RunningServer, api_client, running_server
from tests.integration.conversations_client import created, error_of, read, said, shown
from tests.integration.sse_events import all_events

Api = RunningServer[ReplayEngine]


async def filled(http: aiohttp.ClientSession) -> str:
    """Create a conversation with branches and a failed answer, and return its id."""
    conversation = await created(http, title="Tides", system_prompt="Be brief.", params={"top_k": 4}, pinned=True)
    first = await said(http, conversation, "one")
    await all_events(await http.post(f"/api/messages/{first['id']}/retry"))
    await said(http, conversation, FAILING)
    await said(http, conversation, "one, better", parent_id=None)
    return conversation


async def exported(http: aiohttp.ClientSession, path: str = "/api/export") -> dict[str, Any]:
    response = await http.get(path)
    assert response.status == 200
    assert response.headers["Content-Disposition"].startswith("attachment")
    whole: dict[str, Any] = json.loads(await response.text())
    return whole


def without_names(conversation: dict[str, Any]) -> dict[str, Any]:
    """Replace the ids of messages with their indices."""
    ids = {message["id"]: index for index, message in enumerate(conversation["messages"])} | {None: None}
    messages = [
        {**message, "id": ids[message["id"]], "parent_id": ids[message["parent_id"]]}
        for message in conversation["messages"]
    ]
    return {**conversation, "head_id": ids[conversation["head_id"]], "messages": messages}


async def test_import_restores_the_export(http: aiohttp.ClientSession, tmp_path: Path) -> None:
    await filled(http)
    await said(http, await created(http), "other 日本 🌊")
    await created(http)
    whole = await exported(http)
    assert (whole["format"], whole["format_version"], len(whole["conversations"])) == ("ebb-conversations", 3, 3)
    (tmp_path / "elsewhere").mkdir()
    async with running_server(tmp_path / "elsewhere", ReplayEngine()) as other, api_client(other.url) as there:
        response = await there.post("/api/import", json=whole)
        assert response.status == 200, await response.text()
        outcome = await response.json()
        assert (len(outcome["imported"]), outcome["skipped"]) == (3, [])
        again = await exported(there)
        by_id = {each["id"]: each for each in again["conversations"]}
        for conversation in whole["conversations"]:
            assert without_names(by_id[conversation["id"]]) == without_names(conversation)
        listed = await read(there, "/api/conversations")
        assert [each["title"] for each in listed["data"]] == ["Tides", None, "other 日本 🌊"]
        assert (await read(there, "/api/search", q="日本"))["messages"] != []


async def test_imported_conversation_continues_from_its_text(http: aiohttp.ClientSession, api: Api) -> None:
    conversation = await created(http)
    await said(http, conversation, "one")
    whole = await exported(http, f"/api/conversations/{conversation}/export")
    await http.delete(f"/api/conversations/{conversation}?permanently=true")
    outcome = await (await http.post("/api/import", json=whole)).json()
    await said(http, outcome["imported"][0], "two")
    assert text_of(api.engine.requests[1].prompt).startswith("<user\none><assistant\n w0 w1")
    assert text_of(api.engine.requests[1].prompt).endswith("><user\ntwo><assistant\n")


async def test_second_import_is_skipped_unless_duplicates_requested(http: aiohttp.ClientSession) -> None:
    conversation = await filled(http)
    whole = await exported(http)
    for _ in range(2):
        outcome = await (await http.post("/api/import", json=whole)).json()
        assert outcome == {"imported": [], "skipped": [conversation], "unreadable": []}
    [copied] = (await (await http.post("/api/import?duplicates=true", json=whole)).json())["imported"]
    assert copied != conversation
    assert len((await read(http, "/api/conversations"))["data"]) == 2
    both = await exported(http)
    assert {each["id"] for each in both["conversations"]} == {conversation, copied}
    await http.delete(f"/api/conversations/{conversation}")
    outcome = await (await http.post("/api/import", json=whole)).json()
    assert len(outcome["imported"]) == 1, "a deleted conversation must be importable again"
    assert (await (await http.post("/api/import", json=whole)).json())["imported"] == []


WRONG: list[tuple[str, Any]] = [
    ("format", "something else"),
    ("format_version", 4),
    ("folders", [{"path": [], "system_prompt": "Speak of the sea."}]),
    ("folders", [{"path": ["Sea"], "system_prompt": "x" * 65_537}]),
    ("folders", [{"path": ["Sea"], "system_prompt": "Speak of the sea."}] * 201),
    ("conversations", None),
    ("conversations[0].id", ""),
    ("conversations[0].title", "x" * 201),
    ("conversations[0].colour", "red"),
    ("conversations[0].params", {"n": 1}),
    ("conversations[0].head_id", "msg_none"),
    ("conversations[0].head_id", None),
    ("conversations[0].created_at", "yesterday"),
    ("conversations[0].messages[1].parent_id", "msg_none"),
    ("conversations[0].messages[1].role", "developer"),
    ("conversations[0].messages[1].status", "in_progress"),
    ("conversations[0].messages[1].content", 5),
    ("conversations[0].messages[1].usage", "much"),
]


@pytest.mark.parametrize(("field", "value"), WRONG, ids=[f"{field}={value!r:.12}" for field, value in WRONG])
async def test_import_with_one_invalid_field_is_refused_as_a_whole(
    http: aiohttp.ClientSession, field: str, value: Any
) -> None:
    await said(http, await created(http), "one")
    whole = await exported(http)
    good = copy.deepcopy(whole["conversations"][0])
    whole["conversations"].append({**good, "id": "conv_other"})
    target: Any = whole
    *path, last = field.replace("[", ".").replace("]", "").split(".")
    for part in path:
        target = target[int(part)] if part.isdigit() else target[part]
    target[last] = value
    error = await error_of(await http.post("/api/import?duplicates=true", json=whole), 400)
    assert error["param"].startswith(field), error
    assert len((await read(http, "/api/conversations"))["data"]) == 1


async def test_import_with_a_cycle_of_messages_is_refused(http: aiohttp.ClientSession) -> None:
    await said(http, await created(http), "one")
    whole = await exported(http)
    question, answer = whole["conversations"][0]["messages"]
    question["parent_id"] = answer["id"]
    error = await error_of(await http.post("/api/import?duplicates=true", json=whole), 400)
    assert "cycle" in error["message"]


async def test_import_with_duplicate_ids_is_refused(http: aiohttp.ClientSession) -> None:
    await said(http, await created(http), "one")
    whole = await exported(http)
    twice = {**whole, "conversations": whole["conversations"] * 2}
    assert (await error_of(await http.post("/api/import", json=twice), 400))["param"] == "conversations"
    whole["conversations"][0]["messages"] *= 2
    error = await error_of(await http.post("/api/import", json=whole), 400)
    assert error["param"] == "conversations[0].messages"


async def test_import_of_invalid_json_is_refused(http: aiohttp.ClientSession) -> None:
    for body in (b"", b"[]", b"{", b"\xff", b"[" * 100_000):
        assert (await http.post("/api/import", data=body)).status == 400


async def test_text_exports_hold_the_current_path(http: aiohttp.ClientSession) -> None:
    conversation = await created(http, system_prompt="Be brief.")
    first = await said(http, conversation, "# Not a heading of ours\n\nWhat is a tide?")
    await said(http, conversation, "left")
    await said(http, conversation, "right", parent_id=first["id"])
    response = await http.get(f"/api/conversations/{conversation}/export?format=markdown")
    assert response.content_type == "text/markdown"
    words = first["content"]
    assert await response.text() == (
        "# # Not a heading of ours What is a tide?\n\n## System\n\nBe brief.\n\n"
        f"## You\n\n# Not a heading of ours\n\nWhat is a tide?\n\n## Assistant\n\n{words}\n\n"
        f"## You\n\nright\n\n## Assistant\n\n{words}\n"
    )
    plain = await http.get(f"/api/conversations/{conversation}/export?format=text")
    assert plain.content_type == "text/plain"
    assert await plain.text() == (
        "# Not a heading of ours What is a tide?\n\nSystem:\nBe brief.\n\n"
        f"You:\n# Not a heading of ours\n\nWhat is a tide?\n\nAssistant:\n{words}\n\n"
        f"You:\nright\n\nAssistant:\n{words}\n"
    )
    wrong = await http.get(f"/api/conversations/{conversation}/export?format=pdf")
    assert (await error_of(wrong, 400))["param"] == "format"
    assert (await http.get("/api/conversations/conv_none/export")).status == 404


async def test_running_answer_is_exported_as_incomplete(http: aiohttp.ClientSession, api: Api) -> None:
    conversation = await created(http)
    api.engine.hold()
    response = await http.post(f"/api/conversations/{conversation}/messages", json={"content": "one"})
    whole = await exported(http, f"/api/conversations/{conversation}/export")
    assert [message["status"] for message in whole["conversations"][0]["messages"]] == ["complete", "incomplete"]
    response.close()


async def test_export_holds_every_conversation(http: aiohttp.ClientSession) -> None:
    made = {await created(http, title=str(index)) for index in range(205)}
    assert {each["id"] for each in (await exported(http))["conversations"]} == made
    assert (await shown(http, next(iter(made))))["messages"] == []


async def test_export_in_parts_holds_everything_once(
    http: aiohttp.ClientSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("app.routes.transfer.PART_MESSAGES", 2)
    made = {await created(http, title=str(index)) for index in range(5)}
    seen = list[str]()
    cursor: str | None = ""
    while cursor is not None:
        part = await exported(http, f"/api/export?parts=true&cursor={cursor}")
        assert len(part["conversations"]) <= 2
        assert (await http.post("/api/import", json=part)).status == 200
        seen += [each["id"] for each in part["conversations"]]
        cursor = part["next_cursor"]
    assert len(seen) == 5
    assert set(seen) == made
    assert (await error_of(await http.get("/api/export?cursor=conv_1"), 400))["param"] == "cursor"


CHATGPT: list[dict[str, Any]] = [
    {
        "title": "Tides at night",
        "create_time": 1_700_000_000.5,
        "conversation_id": "abc",
        "current_node": "q",
        "mapping": {"q": {"parent": None, "message": {
            "author": {"role": "user"}, "content": {"content_type": "text", "parts": ["When is it high?"]}}}},
    },
    {"title": "Broken \ud83c", "mapping": {"q": {"parent": 5}}},
]  # fmt: skip


async def test_preview_tells_what_an_import_does(http: aiohttp.ClientSession) -> None:
    response = await http.post("/api/import/preview", json=CHATGPT)
    assert response.status == 200, await response.text()
    preview = await response.json()
    assert preview["format"] == "chatgpt"
    [chat], [broken] = preview["conversations"], preview["unreadable"]
    assert (chat["index"], chat["title"], chat["num_messages"], chat["is_here"]) == (0, "Tides at night", 1, False)
    problem = "The chat is damaged: none of its questions and answers can be read. Export the chat again."
    assert broken == {"index": 1, "title": "Broken \ufffd", "problem": f"{problem} (chats[1])"}
    assert (await read(http, "/api/conversations"))["data"] == []
    none = await (await http.post("/api/import?chosen=1", json=CHATGPT)).json()
    assert none["imported"] == []
    outcome = await (await http.post("/api/import?chosen=0-3", json=CHATGPT)).json()
    assert (len(outcome["imported"]), outcome["unreadable"]) == (1, [broken])
    assert (await (await http.post("/api/import/preview", json=CHATGPT)).json())["conversations"][0]["is_here"]
    archived = [{**CHATGPT[0], "is_archived": True}]
    assert (await (await http.post("/api/import/preview", json=archived)).json())["conversations"][0]["archived"]
    for wrong in ("", "x", "3-1", "1,", "0-99999999"):
        assert (await error_of(await http.post(f"/api/import?chosen={wrong}", json=CHATGPT), 400))["param"] == "chosen"


async def test_export_is_named_by_its_title(http: aiohttp.ClientSession) -> None:
    conversation = await created(http, title='Tides: "high"/low\u202e 潮')
    for kind, extension in (("json", "json"), ("markdown", "md"), ("text", "txt")):
        response = await http.get(f"/api/conversations/{conversation}/export?format={kind}")
        disposition = response.headers["Content-Disposition"]
        assert response.content_disposition is not None
        assert response.content_disposition.filename == f"Tides high low 潮.{extension}"
        assert f'filename="Tides high low .{extension}"' in disposition


async def test_damaged_chats_are_imported_in_any_encoding(http: aiohttp.ClientSession) -> None:
    chats = json.dumps([CHATGPT[0], {**CHATGPT[0], "conversation_id": "def", "title": "Cut \ud83d"}])
    body = chats.replace("When is it high?", "cut \\ud83d, whole \\ud83d\\ude00").replace("1700000000.5", "NaN")
    preview = await http.post("/api/import/preview", data=body.encode("utf-16"))
    assert preview.status == 200, await preview.text()
    assert [each["title"] for each in (await preview.json())["conversations"]] == ["Tides at night", "Cut \ufffd"]
    outcome = await (await http.post("/api/import", data=b"\xef\xbb\xbf" + body.encode())).json()
    assert (len(outcome["imported"]), outcome["unreadable"]) == (2, [])
    messages = (await shown(http, outcome["imported"][1]))["messages"]
    assert [each["content"] for each in messages] == ["cut \ufffd, whole \U0001f600"]
    assert len((await exported(http))["conversations"]) == 2
