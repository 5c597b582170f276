"""Versions of conversations, with which a client notices that another one changed the conversation first.

Each action of a user raises the version by one: a change of a field, a question, another answer, a deletion, a restore,
another branch. Additions by the server do not: the text and the end of an answer, a title by the model, a draft. Nor
does a look at an answer. A client that has seen the user's latest action is therefore never refused.
"""

from app.domain.records import Conversation
from app.storage.connection import DatabaseConnection
from app.storage.rows import conversation_of, no_conversation
from engine.api.errors import ClientError

Versions = frozenset[int] | None
"""Versions that a client accepts as the base of its change. None accepts any version."""


class VersionMismatchError(ClientError):
    """412: the conversation has changed since the client read it.

    current: the conversation's version now.
    """

    status = 412
    code = "version_mismatch"

    def __init__(self, current: int) -> None:
        super().__init__(
            f"The conversation has changed since you read it: it is now at version {current}. Read it again, then "
            "retry",
            param="If-Match",
        )
        self.current = current


def about_to_change(
    connection: DatabaseConnection, tenant: str, conversation_id: str, expected: Versions = None
) -> Conversation:
    """Return the tenant's conversation to a transaction that will change it.

    Raise NotFoundError, VersionMismatchError.
    """
    sql = "SELECT * FROM shown_conversation WHERE id = ? AND tenant = ?"
    row = connection.fetch_one(sql, (conversation_id, tenant))
    if row is None:
        raise no_conversation(conversation_id)
    conversation = conversation_of(row)
    if expected is not None and conversation.version not in expected:
        raise VersionMismatchError(conversation.version)
    return conversation
