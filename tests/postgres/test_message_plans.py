"""Plans of statements that visit the messages of a branch, while PostgreSQL has no statistics of the table."""

import re
from functools import partial

from app.storage.connection import Connection, Parameters, Row
from app.storage.deletions import HIDE_BRANCH
from app.storage.postgres.connection import POSTGRES
from app.storage.removals import BRANCH_AND_ABOVE, BRANCH_IDS, CONVERSATION_IDS, CONVERSATION_NODES
from app.storage.store import Store
from app.storage.tree import NEWEST_LEAF_QUERY
from tests.many_chats import add_long_chat


def explained(connection: Connection, statement: str, parameters: Parameters) -> list[Row]:
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
        complete = statement.format(same=POSTGRES.same, children=POSTGRES.children_of("below"))
        rows = await store.database.write(partial(explained, statement=complete, parameters=parameters))
        plan = "\n".join(str(row["QUERY PLAN"]) for row in rows)
        assert set(re.findall(r"Seq Scan on message .*loops=(\d+)", plan)) <= {"0", "1"}, plan
        assert not re.search(r"Rows Removed by Join Filter: \d{4}", plan), plan
