"""Removal of messages that no response needs any longer, from the end of their path upwards, in batches.

A row in `path_end` names the message to continue with. Each batch determines the unneeded messages again, so a message
that gained a child between two batches stays. If the process ends between two batches, the next process continues.
"""

from dataclasses import dataclass
from functools import partial

from app.domain.answer_tokens import TokenNode
from app.storage.answer_prompts import prompt_nodes
from app.storage.connection import DatabaseConnection
from app.storage.database import Database
from app.storage.next_prefixes import NEXT_PREFIXES
from app.storage.other_tokens import other_nodes
from app.storage.removals import BATCH_MESSAGES, NODE_COLUMNS, Leaving, without_kv
from app.storage.rows import node_of

PATH = """
    WITH RECURSIVE path(id, parent_id) AS (
      SELECT id, parent_id FROM message WHERE id = :id
      UNION ALL SELECT message.id, message.parent_id FROM path JOIN message ON message.id = path.parent_id)
"""
PATH_NODES = f"""
    {PATH} SELECT {NODE_COLUMNS} FROM message WHERE id IN (SELECT id FROM path)
    UNION ALL {other_nodes("SELECT id FROM path")}
"""
PATH_PROMPTS = f"""
    {PATH} {NEXT_PREFIXES} WHERE message_id IN (SELECT id FROM path)
    UNION ALL {prompt_nodes("SELECT id FROM path")}
"""
"""Prompts that are stored with messages of the path. The id of each ends with that of its message."""

_HAS_NO_USE = """
    NOT EXISTS (SELECT 1 FROM response WHERE message_id = message.id)
    AND NOT EXISTS (SELECT 1 FROM conversation WHERE id = message.conversation_id AND head_id = message.id)
"""
# The recursion is evaluated as a queue, so each message comes before its parent.
UNNEEDED = f"""
    WITH RECURSIVE unneeded(id, parent_id, conversation_id) AS (
      SELECT id, parent_id, conversation_id FROM message
      WHERE id = :id AND NOT EXISTS (SELECT 1 FROM message AS next WHERE next.parent_id = :id) AND {_HAS_NO_USE}
      UNION ALL
      SELECT message.id, message.parent_id, message.conversation_id
      FROM unneeded JOIN message ON message.id = unneeded.parent_id
      WHERE {_HAS_NO_USE} AND NOT EXISTS (
        SELECT 1 FROM message AS next WHERE next.parent_id = message.id AND next.id <> unneeded.id))
    SELECT id, parent_id, conversation_id FROM unneeded LIMIT :most
"""


@dataclass(frozen=True, slots=True)
class _Batch:
    """Result of removing one batch.

    removed: ids of the removed messages.
    above: parent of the topmost removed message, where the next batch begins; None if there is no next batch.
    """

    removed: list[str]
    above: str | None


def mark_path_end(connection: DatabaseConnection, message_id: str) -> None:
    """Mark a message that may have become unneeded, within the caller's transaction.

    Deleted messages are not marked: they can still be restored until their removal is due.
    """
    connection.execute(
        "INSERT INTO path_end(message_id) SELECT id FROM shown_message WHERE id = ? ON CONFLICT DO NOTHING",
        (message_id,),
    )


async def remove_path_end(
    database: Database, message_id: str, tenant: str, leaving: Leaving = without_kv
) -> list[TokenNode]:
    """Remove a marked message and its ancestors, up to the first one that is still needed.

    Returns the tokens of the whole path, or an empty list if no message was removed.
    """
    given = {"id": message_id}
    path = await database.read_as(node_of, PATH_NODES, given, tenant=tenant)
    prompts = await database.read_as(node_of, PATH_PROMPTS, given, tenant=tenant)
    removed, end = set[str](), message_id
    async with leaving([*path, *prompts], tenant) as departure:
        while True:
            batch = await database.write_batch(partial(_remove_batch, message_id=end), tenant=tenant)
            removed.update(batch.removed)
            if batch.above is None:
                break
            end = batch.above
        departure.nodes = (
            [*path, *(node for node in prompts if node.id.partition("_")[2] in removed)] if removed else []
        )
    return list(departure.nodes)


def _remove_batch(connection: DatabaseConnection, message_id: str) -> _Batch:
    rows = connection.fetch_all(UNNEEDED, {"id": message_id, "most": BATCH_MESSAGES})
    was_marked = connection.execute("DELETE FROM path_end WHERE message_id = ?", (message_id,))
    if not (rows and was_marked):
        return _Batch([], None)
    ids, above, conversation_id = [row["id"] for row in rows], rows[-1]["parent_id"], rows[-1]["conversation_id"]
    connection.execute(f"DELETE FROM message WHERE id IN ({', '.join('?' * len(ids))})", ids)
    if above is None:
        connection.execute(
            "DELETE FROM conversation WHERE id = ? AND source = 'response' "
            "AND NOT EXISTS (SELECT 1 FROM message WHERE conversation_id = conversation.id)",
            (conversation_id,),
        )
    else:
        connection.execute("INSERT INTO path_end(message_id) VALUES (?) ON CONFLICT DO NOTHING", (above,))
    return _Batch(ids, above)
