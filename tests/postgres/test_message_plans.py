"""Plans of statements that visit messages: what PostgreSQL reads for them, with statistics and without."""

import re
from functools import partial
from typing import Final

import pytest

from app.storage.connection import DatabaseConnection, Parameters, Row
from app.storage.deletions import HIDE_BRANCH
from app.storage.postgres.connection import POSTGRES
from app.storage.removals import BRANCH_AND_ABOVE, BRANCH_IDS, CONVERSATION_IDS, CONVERSATION_NODES
from app.storage.rows import children_below
from app.storage.store import Store
from app.storage.tree import NEWEST_LEAF_QUERY
from tests.many_chats import add_chats, add_long_chat
from tests.postgres.plans import noted_plans

SOME: Final = 100
"""Messages that are asked for, of the thousands that are stored."""


def explained(connection: DatabaseConnection, statement: str, parameters: Parameters) -> list[Row]:
    return connection.fetch_all(f"EXPLAIN (ANALYZE) {statement}", parameters)


async def test_walk_over_a_branch_reads_the_table_at_most_once(store: Store) -> None:
    await store.database.write(
        lambda connection: connection.execute("ALTER TABLE message SET (autovacuum_enabled = FALSE)")
    )
    chat, messages = await add_long_chat(store, 2000)
    middle = messages[1000]
    statements: dict[str, Parameters] = {
        CONVERSATION_NODES: {"id": chat},
        CONVERSATION_IDS: {"id": chat},
        BRANCH_AND_ABOVE: {"id": middle},
        BRANCH_IDS: {"id": middle},
        HIDE_BRANCH: (middle, 1.0, middle),
        NEWEST_LEAF_QUERY: (chat, None),
    }
    for statement, parameters in statements.items():
        complete = statement.format(same=POSTGRES.same, children=children_below(POSTGRES))
        rows = await store.database.write(partial(explained, statement=complete, parameters=parameters))
        plan = "\n".join(str(row["QUERY PLAN"]) for row in rows)
        assert set(re.findall(r"Seq Scan on message .*loops=(\d+)", plan)) <= {"0", "1"}, plan
        assert not re.search(r"Rows Removed by Join Filter: \d{4}", plan), plan


@pytest.mark.parametrize("is_analyzed", [True, False])
async def test_messages_and_runs_are_looked_up_one_by_one(
    store: Store, monkeypatch: pytest.MonkeyPatch, is_analyzed: bool
) -> None:
    made = await add_chats(store, 600)
    if is_analyzed:
        await store.database.write(lambda connection: connection.execute("ANALYZE message, conversation"))
    plans = noted_plans(monkeypatch, "^SELECT")
    some = made.messages[:SOME]
    assert [each.id for each in await store.messages.some(some)] == some
    assert len(await store.tree.outline(some)) == SOME
    assert await store.runs.unfinished() == []
    assert len(plans) == 3
    for plan in plans:
        scans = re.findall(r"Scan .*\b(?:message|conversation)\b.*actual .*rows=([\d.]+) loops=(\d+)", plan)
        assert sum(float(rows) * int(loops) for rows, loops in scans) <= 3 * SOME, plan


@pytest.mark.parametrize("is_analyzed", [True, False])
async def test_response_is_looked_up_by_its_input(
    store: Store, monkeypatch: pytest.MonkeyPatch, is_analyzed: bool
) -> None:
    made = await add_chats(store, 600)
    await store.database.write(
        lambda connection: connection.execute(
            "INSERT INTO response(message_id, model, background, metadata, input_name) "
            "SELECT id, 'm', FALSE, '{}', id FROM message"
        )
    )
    if is_analyzed:
        await store.database.write(lambda connection: connection.execute("ANALYZE message, conversation, response"))
    plans = noted_plans(monkeypatch, "input_name")
    assert await store.responses.with_input(made.messages[:SOME]) == made.messages[SOME - 1]
    assert len(plans) == 1
    assert "Seq Scan" not in plans[0], plans
