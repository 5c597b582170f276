"""Versions of conversations: how a tab notices that another one was there first.

What a person does raises the version, once: a change of its fields, a question, another answer, a deletion, an undo,
another branch. What the server adds by itself does not: the text and the end of an answer, a title by the model, a
draft. So a person who has seen the newest act of a person is never refused.
"""

import aiosqlite

from app.records import Conversation
from app.storage.rows import conversation_of, no_conversation
from engine.errors import ClientError

Versions = frozenset[int] | None
"""Those that a client would change; None: whichever there is."""


class VersionMismatchError(ClientError):
    """412: somebody changed the conversation since the client saw it. `current`: its version now."""

    status = 412
    code = "version_mismatch"

    def __init__(self, current: int) -> None:
        super().__init__(
            f"The conversation was changed meanwhile: it is at version {current}. Read it, then try again",
            param="If-Match",
        )
        self.current = current


async def about_to_change(
    connection: aiosqlite.Connection, tenant: str, conversation_id: str, expected: Versions = None
) -> Conversation:
    """The tenant's conversation that a transaction will change. Raises NotFoundError, VersionMismatchError."""
    sql = "SELECT * FROM shown_conversation WHERE id = ? AND tenant = ?"
    rows = list(await connection.execute_fetchall(sql, (conversation_id, tenant)))
    if not rows:
        raise no_conversation(conversation_id)
    conversation = conversation_of(rows[0])
    if expected is not None and conversation.version not in expected:
        raise VersionMismatchError(conversation.version)
    return conversation
