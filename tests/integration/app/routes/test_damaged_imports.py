"""Damaged files of other applications over a real socket: never an error of the server, never a lost neighbour."""

import random
from typing import Any

import aiohttp
import pytest

from tests.integration.conversations_client import read
from tests.sizes import Size
from tests.unit.app.conversations.formats.test_mutations import FILES, WORD, leaves, mutations


async def imported_words(http: aiohttp.ClientSession, body: bytes) -> tuple[set[str], bool]:
    """Import a file as copies. Return the words of the chats that it added, and whether the file was read."""
    previewed = await http.post("/api/import/preview", data=body)
    response = await http.post("/api/import", params={"duplicates": "true"}, data=body)
    told = await response.json()
    assert previewed.status == response.status, told
    if response.status != 200:
        assert response.status == 400, told
        return set(), False
    preview: dict[str, Any] = await previewed.json()
    assert len(told["imported"]) == len(preview["conversations"])
    words = set[str]()
    for each in told["imported"]:
        [chat] = (await read(http, f"/api/conversations/{each}/export"))["conversations"]
        texts = (f"{message['content']}\n{message['reasoning'] or ''}" for message in chat["messages"])
        words |= {word for text in texts for word in WORD.findall(text)}
    return words, True


@pytest.mark.parametrize("name", FILES)
async def test_damaged_value_costs_no_other_chat(http: aiohttp.ClientSession, name: str, size: Size) -> None:
    write, file = FILES[name]
    known = leaves(file)
    whole, _ = await imported_words(http, write(file))
    chosen = random.Random(8).sample(mutations(file), size.pick(small=6, full=200))
    for mutation in chosen:
        words, was_read = await imported_words(http, write(mutation.of(file)))
        lost = whole - words
        assert not was_read or all(mutation.may_lose(known[word]) for word in lost), (mutation, lost)
