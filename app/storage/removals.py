"""Permanent removal in batches, since one transaction of many messages would block every other writer for seconds.

A removal begins with a row in `removal`. From then on, the conversation or branch that the row names cannot be
restored. If the process ends during a removal, the next one continues it. Messages are deleted before their parents, so
that a cascade never deletes more than the batch.
"""

from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import dataclass
from functools import partial

from app.domain.answer_tokens import TokenNode
from app.storage.answer_prompts import MERGED_WITH, forget_merging_prompts, prompt_nodes
from app.storage.connection import DatabaseConnection
from app.storage.database import Database
from app.storage.next_prefixes import NEXT_PREFIXES
from app.storage.other_tokens import REMOVED_ABOVE, other_nodes
from app.storage.rows import children_below, node_of, owned_among

BATCH_MESSAGES = 25

NODE_COLUMNS = "id, parent_id, role, token_ids, prompt_key, starts_prompt, model"
CONVERSATION_NODES = f"""
    SELECT {NODE_COLUMNS} FROM message WHERE conversation_id = :id
    UNION ALL {NEXT_PREFIXES} WHERE message_id IN (SELECT id FROM message WHERE conversation_id = :id)
    UNION ALL {other_nodes("SELECT id FROM message WHERE conversation_id = :id")}
    UNION ALL {prompt_nodes("SELECT id FROM message WHERE conversation_id = :id")}
"""
BRANCH_AND_ABOVE = f"""
    WITH RECURSIVE below(id) AS (
      SELECT id FROM message WHERE id = :id
      UNION ALL SELECT message.id FROM below {{children}}),
    above(id) AS (
      SELECT parent_id FROM message WHERE id = :id
      UNION ALL SELECT message.parent_id FROM above JOIN message ON message.id = above.id)
    SELECT {NODE_COLUMNS} FROM message WHERE id IN (SELECT id FROM below UNION SELECT id FROM above)
    UNION ALL {other_nodes("SELECT id FROM below UNION SELECT id FROM above")}
    UNION ALL {NEXT_PREFIXES} WHERE message_id IN (SELECT id FROM below)
    UNION ALL {prompt_nodes(f"SELECT id FROM below UNION {MERGED_WITH}")}
"""
# The recursion is evaluated as a queue, so each message comes after its parent.
CONVERSATION_IDS = """
    WITH RECURSIVE below(id) AS (
      SELECT id FROM message WHERE conversation_id = :id AND parent_id IS NULL
      UNION ALL SELECT message.id FROM below {children})
    SELECT id FROM below
"""
BRANCH_IDS = """
    WITH RECURSIVE below(id) AS (
      SELECT id FROM message WHERE id = :id
      UNION ALL SELECT message.id FROM below {children})
    SELECT id FROM below
"""


@dataclass(slots=True)
class Departure:
    """Messages that leave the store.

    nodes: tokens of these messages and their ancestors. The removal may change them until it ends.
    """

    nodes: Sequence[TokenNode]


Leaving = Callable[[Sequence[TokenNode], str], AbstractAsyncContextManager[Departure]]
"""Context in which messages with these tokens leave the store of a tenant: see `KVErasure.leaving`."""


def without_kv(nodes: Sequence[TokenNode], tenant: str) -> AbstractAsyncContextManager[Departure]:  # noqa: ARG001
    """Let messages leave without an erasure of their KV, because no tier may have it."""
    return nullcontext(Departure(nodes))


@dataclass(frozen=True, slots=True)
class Removal:
    """Removal in progress of a conversation or one of its branches.

    message_id: root of the branch to remove; None removes the whole conversation.
    """

    tenant: str
    conversation_id: str
    message_id: str | None


@dataclass(frozen=True, slots=True)
class Removed:
    """Permanently removed messages.

    nodes: tokens of these messages and their ancestors.
    """

    tenant: str
    nodes: list[TokenNode]


def mark(connection: DatabaseConnection, removal: Removal) -> None:
    """Begin a removal within the caller's transaction. The conversation or branch must already be hidden.

    A conversation that is being removed keeps no KV of others.
    """
    if removal.message_id is None:
        connection.execute("UPDATE conversation SET keeps_kv = FALSE WHERE id = ?", (removal.conversation_id,))
    connection.execute(
        "INSERT INTO removal(conversation_id, message_id) VALUES (?, ?) ON CONFLICT DO NOTHING",
        (removal.conversation_id, removal.message_id),
    )


def mark_hidden(connection: DatabaseConnection, tenant: str, ids: Sequence[str]) -> list[str]:
    """Begin the removal of those of a tenant's conversations that are hidden, within the caller's transaction.

    Returns the ids of the conversations whose removal had not begun.
    """
    with_kv = owned_among(len(ids), "deleted_at IS NOT NULL AND keeps_kv")
    connection.execute(f"UPDATE conversation SET keeps_kv = FALSE WHERE {with_kv}", (*ids, tenant))
    rows = connection.fetch_all(
        "INSERT INTO removal(conversation_id, message_id) SELECT id, NULL FROM conversation "
        f"WHERE {owned_among(len(ids), 'deleted_at IS NOT NULL')} "
        "ON CONFLICT DO NOTHING RETURNING conversation_id",
        (*ids, tenant),
    )
    return [row["conversation_id"] for row in rows]


def disown(connection: DatabaseConnection, message_id: str) -> None:
    """Clear the token ids of a message that leaves its conversation, and of all messages below it.

    The ids of those below come from prompts that contained this message, so they would reveal its text.
    """
    below = (
        "WITH RECURSIVE below(id) AS (SELECT id FROM message WHERE id = ? "
        f"UNION ALL SELECT message.id FROM below {children_below(connection.dialect)})"
    )
    connection.execute(
        f"{below} UPDATE message SET token_ids = ?, starts_prompt = FALSE, prompt_key = ? "
        "WHERE id IN (SELECT id FROM below) AND prompt_key <> ''",
        (message_id, b"", REMOVED_ABOVE),
    )
    connection.execute(f"{below} DELETE FROM other_tokens WHERE message_id IN (SELECT id FROM below)", (message_id,))


def next_removal(connection: DatabaseConnection) -> Removal | None:
    """Return a removal that has begun but not finished; None if there is none."""
    row = connection.fetch_one(
        "SELECT tenant, conversation_id, message_id "
        "FROM removal JOIN conversation ON conversation.id = conversation_id LIMIT 1"
    )
    return Removal(*row) if row is not None else None


async def remove(database: Database, removal: Removal, leaving: Leaving = without_kv) -> list[TokenNode]:
    """Remove a marked conversation or branch, and return its tokens.

    For a branch, the result also holds the tokens of its ancestors.
    """
    if removal.message_id is None:
        named, nodes_of, ids_of = removal.conversation_id, CONVERSATION_NODES, CONVERSATION_IDS
    else:
        named, nodes_of, ids_of = removal.message_id, BRANCH_AND_ABOVE, BRANCH_IDS
    children = children_below(database.dialect)
    nodes = await database.read_as(node_of, nodes_of.format(children=children), {"id": named}, tenant=removal.tenant)
    rows = await database.read(ids_of.format(children=children), {"id": named}, tenant=removal.tenant)
    ids = [row["id"] for row in reversed(rows)]
    batches = [ids[start : start + BATCH_MESSAGES] for start in range(0, len(ids), BATCH_MESSAGES)] or [[]]
    async with leaving(nodes, removal.tenant):
        if removal.message_id is not None:
            await database.write(partial(forget_merging_prompts, message_id=named), durable=False)
        for batch in batches:
            is_whole = removal.message_id is None and batch is batches[-1]
            work = partial(_remove_messages, ids=batch, conversation_id=named if is_whole else None)
            # The row in `removal` is durable, so a batch that a power cut undoes is removed again.
            await database.write_batch(work, tenant=removal.tenant)
    return nodes


def _remove_messages(connection: DatabaseConnection, ids: Sequence[str], conversation_id: str | None) -> None:
    """Remove messages, and with the last ones their conversation."""
    if ids:
        connection.execute(f"DELETE FROM message WHERE id IN ({', '.join('?' * len(ids))})", ids)
    if conversation_id is not None:
        connection.execute("DELETE FROM conversation WHERE id = ?", (conversation_id,))
