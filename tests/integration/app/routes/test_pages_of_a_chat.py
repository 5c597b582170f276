"""Pages of a conversation's path: its end, what comes before and after a message, and what they cost."""

import aiohttp
import pytest

from app.domain.bounds import MAX_PAGE
from engine.testing.replay_engine import ReplayEngine
from tests.integration.api_server import RunningServer
from tests.integration.conversations_client import created, error_of, read, said, shown
from tests.unit.stored_chats import imported

Api = RunningServer[ReplayEngine]


async def page(http: aiohttp.ClientSession, conversation: str, **params: str) -> list[str]:
    """Return the ids of the messages of a page."""
    found = await read(http, f"/api/conversations/{conversation}", **params)
    return [message["id"] for message in found["messages"]]


async def test_page_has_end_of_path_or_messages_up_to_one(http: aiohttp.ClientSession, api: Api) -> None:
    texts = [f"text {number}" for number in range(60)]
    made = await api.services.store.imports.add([imported("conv_1", texts)], duplicates=False)
    conversation = made["conv_1"]
    whole = await shown(http, conversation)
    ids = [message["id"] for message in whole["messages"]]
    assert (len(ids), whole["branches"]) == (60, None)
    end = await read(http, f"/api/conversations/{conversation}", limit="20")
    assert end["messages"] == whole["messages"][-20:]
    assert (end["head_id"], end["version"], end["branches"]) == (ids[-1], whole["version"], False)
    assert await page(http, conversation, limit="20", to=ids[39]) == ids[20:40]
    assert await page(http, conversation, limit="20", to=ids[5]) == ids[:6]
    assert await page(http, conversation, limit="20", **{"from": ids[30]}) == ids[30:50]
    assert await page(http, conversation, **{"from": ids[30]}) == ids[30:]
    assert await page(http, conversation, limit="20", **{"from": ""}) == ids[:20]


async def test_page_names_branches_of_whole_chat(http: aiohttp.ClientSession) -> None:
    conversation = await created(http)
    first = await said(http, conversation, "one")
    second = await said(http, conversation, "two")
    again = await said(http, conversation, "two, better", parent_id=first["id"])
    third = await said(http, conversation, "three")
    end = await read(http, f"/api/conversations/{conversation}", limit="2")
    assert [message["id"] for message in end["messages"]] == [third["parent_id"], third["id"]]
    assert end["branches"]
    before = await read(http, f"/api/conversations/{conversation}", limit="2", to=again["id"])
    assert before["messages"][0]["sibling_ids"] == [second["parent_id"], again["parent_id"]]
    # Where a path branches, the page follows the one that is shown.
    assert await page(http, conversation, limit="3", **{"from": first["id"]}) == [
        first["id"],
        again["parent_id"],
        again["id"],
    ]
    assert (await http.delete(f"/api/messages/{second['parent_id']}")).status == 200
    assert not (await read(http, f"/api/conversations/{conversation}", limit="2"))["branches"]


async def test_empty_chat_has_an_empty_page(http: aiohttp.ClientSession) -> None:
    conversation = await created(http)
    assert await page(http, conversation, limit="20") == []


@pytest.mark.parametrize("place", ["from", "to"])
async def test_page_at_unknown_message_is_refused(http: aiohttp.ClientSession, place: str) -> None:
    conversation, other = await created(http), await created(http)
    elsewhere = await said(http, other, "one")
    for named in ("msg_none", elsewhere["id"]):
        response = await http.get(f"/api/conversations/{conversation}", params={place: named})
        assert (await error_of(response, 404))["code"] == "message_not_found"


async def test_impossible_page_is_refused(http: aiohttp.ClientSession) -> None:
    conversation = await created(http)
    for params, param in (
        ({"limit": "0"}, "limit"),
        ({"limit": str(MAX_PAGE + 1)}, "limit"),
        ({"from": "msg_a", "to": "msg_b"}, "to"),
    ):
        response = await http.get(f"/api/conversations/{conversation}", params=params)
        assert (await error_of(response, 400))["param"] == param
