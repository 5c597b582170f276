"""Token ids of questions under further prompt keys.

The row of a message has its ids under the key of its first answer. If another model answers the question too, or the
same one with another system prompt, the ids of that prompt are here. No message has two lists under one key.
"""

import json
from collections.abc import Iterable

from app.domain.token_history import MessageTokens
from app.storage.connection import DatabaseConnection
from app.storage.limits import check_size

REMOVED_ABOVE = "removed above"
"""The `prompt_key` of messages whose token ids were cleared. No prompt has this key."""


def other_nodes(messages: str) -> str:
    """Return a query for these ids as nodes of a conversation's tokens.

    messages: a query for the ids of the messages.
    """
    return f"""
        SELECT message.id, message.parent_id, message.role, other_tokens.token_ids, other_tokens.prompt_key,
          other_tokens.starts_prompt, other_tokens.model
        FROM other_tokens JOIN message ON message.id = message_id WHERE message_id IN ({messages})
    """


def keep_tokens(connection: DatabaseConnection, tenant: str, message_id: str, tokens: MessageTokens) -> None:
    """Store the ids of a question under their key, inside the transaction of the caller. Raise LimitReachedError."""
    given = (tokens.ids, tokens.prompt_key, tokens.starts_prompt, tokens.model, message_id)
    if not connection.execute(
        "UPDATE message SET token_ids = ?, prompt_key = ?, starts_prompt = ?, model = ? "
        "WHERE id = ? AND prompt_key IN ('', ?, ?)",
        (*given, tokens.prompt_key, REMOVED_ABOVE),
    ):
        connection.execute(
            "DELETE FROM other_tokens WHERE message_id = ? AND prompt_key = ?", (message_id, tokens.prompt_key)
        )
        connection.execute(
            "INSERT INTO other_tokens(token_ids, prompt_key, starts_prompt, model, message_id) VALUES (?, ?, ?, ?, ?)",
            given,
        )
    check_size(connection, tenant)


def copy_other_tokens(connection: DatabaseConnection, tenant: str, copies: Iterable[tuple[str, str]]) -> None:
    """Give copies of messages these ids of the originals, inside the transaction of the caller.

    Raise LimitReachedError.

    copies: ids of each original and its copy.
    """
    dialect = connection.dialect
    connection.execute(
        "INSERT INTO other_tokens(message_id, prompt_key, starts_prompt, model, token_ids) "
        f"SELECT {dialect.json_text(1)}, prompt_key, starts_prompt, model, token_ids "
        f"FROM {dialect.json_items} CROSS JOIN other_tokens WHERE message_id = {dialect.json_text(0)}",
        (json.dumps(list(copies)),),
    )
    check_size(connection, tenant)
