"""Plans of searches: what PostgreSQL reads for the words of a query."""

import re
from typing import Final

import pytest

from app.domain.records import Conversation, Message, new_id
from app.storage.imports import Imported
from app.storage.store import Store
from tests.postgres.plans import noted_plans

CHATS: Final = 400
MESSAGES: Final = 4


def chat(number: int) -> Imported:
    conversation_id = new_id("conv")
    messages = [
        Message(
            id=new_id("msg"),
            conversation_id=conversation_id,
            parent_id=None,
            role="user",
            content=f"tide {number} {place}",
            status="complete",
            created_at=float(number),
        )
        for place in range(MESSAGES)
    ]
    title = f"harbour {number}"
    made = Conversation(
        id=conversation_id,
        title=title,
        head_id=messages[-1].id,
        system_prompt=None,
        params={},
        created_at=number,
        updated_at=number,
        title_source="model",
    )
    return Imported(conversation_id, made, messages)


@pytest.mark.parametrize("is_analyzed", [True, False])
async def test_search_reads_words_of_no_other_rows(
    store: Store, monkeypatch: pytest.MonkeyPatch, is_analyzed: bool
) -> None:
    for tenant in (store.tenant, "other"):
        await store.of(tenant).imports.add([chat(number) for number in range(CHATS)], duplicates=True)
    if is_analyzed:
        await store.database.write(lambda connection: connection.execute("ANALYZE search_words"))
    plans = noted_plans(monkeypatch, "FROM search_words")
    assert len(await store.search.titles("harbour", limit=2)) == 2
    assert len(await store.search.titles("harbour 0 ", limit=1)) == 1
    assert len(await store.search.messages("tide", limit=2)) == 2
    scans = [re.findall(r"Scan .*(search_words_\w+)", plan) for plan in plans]
    newest, found = ["search_words_newest"], ["search_words_found"]
    assert scans == [newest, newest, newest, found, newest]
