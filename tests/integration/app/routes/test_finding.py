"""Finding of a text in one conversation: the messages that have it, their order, and refused queries."""

import aiohttp
import pytest

from engine.testing.replay_engine import ReplayEngine
from tests.integration.api_server import RunningServer
from tests.integration.conversations_client import created, error_of, read, said, shown
from tests.unit.stored_chats import imported

Api = RunningServer[ReplayEngine]


async def chat_of(api: Api, *texts: str) -> str:
    """Store a chat of questions and answers, and return its id."""
    made = await api.services.store.imports.add([imported("conv_1", texts)], duplicates=False)
    return made["conv_1"]


async def found(http: aiohttp.ClientSession, conversation: str, query: str) -> list[tuple[int, int]]:
    """Return the position on the path of each message that is found, and its count."""
    ids = [message["id"] for message in (await shown(http, conversation))["messages"]]
    body = await read(http, f"/api/conversations/{conversation}/find", q=query)
    return [(ids.index(each["message_id"]), each["count"]) for each in body["messages"]]


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("tide", [(0, 2), (1, 1)]),
        ("TIDES", [(1, 1)]),
        ("hightide", []),
        ("high tide", [(0, 1)]),
        ("cafe", [(2, 1)]),
        ("Café!", [(2, 1)]),
        ("cafe?", []),
        ("strasse", [(2, 1)]),
        ("a != b", [(3, 1)]),
        ("a  != b", []),
        ("潮汐", [(4, 2)]),
        ("汐表", [(4, 1)]),
        ("fine", [(5, 1)]),
        ("™", [(5, 1)]),
        ("%", []),
    ],
)
async def test_text_is_found_as_it_is_written(
    http: aiohttp.ClientSession, api: Api, query: str, expected: list[tuple[int, int]]
) -> None:
    conversation = await chat_of(
        api, "High\ttide, or low TIDE?", "Tides are high", "CAFÉ! Straße", "`a != b`", "潮汐 潮汐表", "ﬁne Ebb™"
    )
    assert await found(http, conversation, query) == expected


async def test_answer_is_found_as_it_is_read(http: aiohttp.ClientSession, api: Api) -> None:
    answer = "The **alba**tross, `a_b` and [the *rule*](https://example.org/x) of tides, tides."
    conversation = await chat_of(api, "The **alba**tross", answer)
    for query, count in (("albatross", 1), ("the rule of", 1), ("**alba**", 1), ("a_b and", 1), ("example.org", 1)):
        assert (1, count) in await found(http, conversation, query), query
    assert await found(http, conversation, "the albatross") == [(1, 1)]
    assert await found(http, conversation, "tides") == [(1, 2)]


async def test_only_the_shown_path_is_looked_through(http: aiohttp.ClientSession) -> None:
    conversation = await created(http)
    await said(http, conversation, "one tide")
    await said(http, conversation, "another tide", parent_id=None)
    assert await found(http, conversation, "tide") == [(0, 1)]
    assert await found(http, await created(http), "tide") == []


async def test_text_after_the_indexed_part_is_found(http: aiohttp.ClientSession, api: Api) -> None:
    conversation = await chat_of(api, "x" * 300_000 + " needle")
    assert await found(http, conversation, "needle") == [(0, 1)]


@pytest.mark.parametrize("query", ["", "  ", "x" * 1_001])
async def test_query_without_text_or_too_long_is_refused(http: aiohttp.ClientSession, query: str) -> None:
    response = await http.get(f"/api/conversations/{await created(http)}/find", params={"q": query})
    assert (await error_of(response, 400))["param"] == "q"


async def test_unknown_conversation_is_refused(http: aiohttp.ClientSession) -> None:
    response = await http.get("/api/conversations/conv_none/find", params={"q": "tide"})
    assert (await error_of(response, 404))["code"] == "conversation_not_found"
