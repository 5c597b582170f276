"""Deletion of a question with its answers alone: copies take the place of the messages that follow.

The originals are hidden with the turn, so that a restoration brings back the branch as it was, with its tokens. The
copies are rendered again for the next prompt.
"""

from dataclasses import dataclass, replace

from app.domain.records import Message, new_id
from app.domain.token_history import MessageTokens
from app.storage.connection import DatabaseConnection
from app.storage.messages import PATH_QUERY
from app.storage.other_tokens import REMOVED_ABOVE
from app.storage.rows import children_below, insert_messages, message_of
from engine.api.errors import ConflictError

# The recursion is evaluated as a queue, so each message comes after its parent.
SHOWN_BELOW = """
    WITH RECURSIVE below(id, depth) AS (
      SELECT id, 0 FROM message WHERE id = ?
      UNION ALL SELECT message.id, depth + 1 FROM below {children} WHERE message.deleted_at IS NULL)
    SELECT message.* FROM below JOIN message ON message.id = below.id
    WHERE depth > 0 ORDER BY depth, message.created_at, message.id
"""


@dataclass(frozen=True, slots=True)
class NewParent:
    """Where the children of a message go.

    parent_id: the message that they follow then; None at the beginning of the conversation.
    num_dropped: number of messages of the turn above them.
    """

    parent_id: str | None
    num_dropped: int


def turn_of(connection: DatabaseConnection, tenant: str, message: Message) -> Message:
    """Return the message with which a turn begins: the question of an answer, any other message itself."""
    path = connection.fetch_all(PATH_QUERY, (message.id, tenant)) if message.role == "assistant" else []
    above = message_of(path[-2]) if len(path) > 1 else None
    return above if above is not None and above.role == "user" else message


def copy_what_follows(connection: DatabaseConnection, tenant: str, turn: Message) -> dict[str, str | None]:
    """Copy all messages after a turn to the place before it, inside the transaction of the caller.

    turn: the message with which the turn begins. The turn holds its answers, too.

    Returns the id that each message below the turn has from then on; for an answer of the turn, that of the message
    before the turn. Raise ConflictError while a message is being generated, and LimitReachedError.
    """
    query = SHOWN_BELOW.format(children=children_below(connection.dialect))
    below = [message_of(row) for row in connection.fetch_all(query, (turn.id,))]
    if any(message.status == "in_progress" for message in (turn, *below)):
        raise ConflictError("An answer in this chat is still being generated", code="run_in_progress")
    num_before = len(connection.fetch_all(PATH_QUERY, (turn.id, tenant))) - 1
    parents = {turn.id: NewParent(turn.parent_id, 1)}
    copies = list[Message]()
    for message in below:
        new_parent = parents[message.parent_id or ""]
        if message.parent_id == turn.id and message.role == "assistant":
            parents[message.id] = NewParent(turn.parent_id, 2)
        else:
            copies.append(_copy(message, new_parent, num_before))
            parents[message.id] = NewParent(copies[-1].id, new_parent.num_dropped)
    insert_messages(connection, copies)
    return {message.id: parents[message.id].parent_id for message in below}


def _copy(message: Message, new_parent: NewParent, num_before: int) -> Message:
    """Copy a message without its run, which has only one answer, and without its tokens, which come after the turn."""
    left_out = message.left_out
    if left_out is not None and left_out > num_before:
        left_out = max(num_before, left_out - new_parent.num_dropped)
    return replace(
        message,
        id=new_id("msg"),
        parent_id=new_parent.parent_id,
        run_id=None,
        left_out=left_out,
        tokens=MessageTokens(prompt_key=REMOVED_ABOVE if message.tokens.prompt_key else "", model=message.tokens.model),
    )
