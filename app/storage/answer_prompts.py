"""Prompts of answers that are not the tokens of their path: with other instructions, or with other answers to merge.

A prompt is stored so that a cut answer can continue from it, and so that its KV is erased along with the answer.
"""

from collections.abc import Iterable

from app.storage.connection import Connection


def prompt_nodes(messages: str) -> str:
    """Return a query for the prompts and their answers as nodes of a conversation's tokens, apart from its tree.

    messages: a query for the ids of the answers.
    """
    return f"""
        SELECT 'prompt_' || message_id AS id, NULL AS parent_id, 'user' AS role, token_ids, '' AS prompt_key,
          TRUE AS starts_prompt
        FROM answer_prompt WHERE message_id IN ({messages})
        UNION ALL
        SELECT 'after_' || message.id, 'prompt_' || message.id, message.role, message.token_ids, '', FALSE
        FROM answer_prompt JOIN message ON message.id = message_id WHERE message.id IN ({messages})
    """


def insert_answer_prompt(connection: Connection, message_id: str, token_ids: bytes) -> None:
    """Store the prompt of an answer, inside the transaction of the caller. `token_ids` are packed."""
    connection.execute("INSERT INTO answer_prompt(message_id, token_ids) VALUES (?, ?)", (message_id, token_ids))


def copy_answer_prompts(connection: Connection, copies: Iterable[tuple[str, str]]) -> None:
    """Give copies of messages the prompts of the originals, inside the transaction of the caller.

    copies: ids of each original and its copy.
    """
    connection.execute_many(
        "INSERT INTO answer_prompt(message_id, token_ids) SELECT ?, token_ids FROM answer_prompt WHERE message_id = ?",
        [(copied, original) for original, copied in copies],
    )
