"""Prompts of answers that are not the tokens of their path: with other instructions, or with other answers to merge.

A prompt is stored so that a cut answer can continue from it, and so that its KV is erased along with the answer.
"""

import json
from collections.abc import Iterable

from app.storage.connection import DatabaseConnection
from app.storage.limits import check_size

MERGED_WITH = (
    "SELECT id FROM message WHERE merged IS NOT NULL AND parent_id = (SELECT parent_id FROM message WHERE id = :id)"
)
"""Ids of the answers beside a message that merge answers, maybe that one."""


def prompt_nodes(messages: str) -> str:
    """Return a query for the prompts and their answers as nodes of a conversation's tokens, apart from its tree.

    messages: a query for the ids of the answers.
    """
    return f"""
        SELECT 'prompt_' || message_id AS id, NULL AS parent_id, 'user' AS role, answer_prompt.token_ids,
          '' AS prompt_key, TRUE AS starts_prompt, model
        FROM answer_prompt JOIN message ON message.id = message_id WHERE message_id IN ({messages})
        UNION ALL
        SELECT 'after_' || message.id, 'prompt_' || message.id, message.role, message.token_ids, '', FALSE, model
        FROM answer_prompt JOIN message ON message.id = message_id WHERE message.id IN ({messages})
    """


def insert_answer_prompt(connection: DatabaseConnection, tenant: str, message_id: str, token_ids: bytes) -> None:
    """Store the prompt of an answer, inside the transaction of the caller. Raise LimitReachedError.

    token_ids: packed.
    """
    connection.execute("INSERT INTO answer_prompt(message_id, token_ids) VALUES (?, ?)", (message_id, token_ids))
    check_size(connection, tenant)


def copy_answer_prompts(connection: DatabaseConnection, tenant: str, copies: Iterable[tuple[str, str]]) -> None:
    """Give copies of messages the prompts of the originals, inside the transaction of the caller.

    Raise LimitReachedError.

    copies: ids of each original and its copy.
    """
    dialect = connection.dialect
    connection.execute(
        f"INSERT INTO answer_prompt(message_id, token_ids) SELECT {dialect.json_text(1)}, token_ids "
        f"FROM {dialect.json_items} CROSS JOIN answer_prompt WHERE message_id = {dialect.json_text(0)}",
        (json.dumps(list(copies)),),
    )
    check_size(connection, tenant)


def forget_answer_prompts(connection: DatabaseConnection, conversation_id: str) -> None:
    """Delete the prompts of a conversation whose history changes, inside the transaction of the caller."""
    connection.execute(
        "DELETE FROM answer_prompt WHERE message_id IN (SELECT id FROM message WHERE conversation_id = ?)",
        (conversation_id,),
    )


def forget_merging_prompts(connection: DatabaseConnection, message_id: str) -> None:
    """Delete the prompts that may quote an answer which is removed, inside the transaction of the caller."""
    connection.execute(f"DELETE FROM answer_prompt WHERE message_id IN ({MERGED_WITH})", {"id": message_id})
