"""The ratings that people give to answers."""

from app.domain.records import Conversation, Rating
from app.storage.connection import DatabaseConnection
from app.storage.database import Database
from app.storage.limits import check_size
from app.storage.rows import message_of, no_message
from app.storage.tree import SHOWN_MESSAGE
from app.storage.versions import about_to_change
from engine.api.errors import ConflictError, InvalidRequestError


class RatingStore:
    """The ratings of a tenant's answers."""

    def __init__(self, database: Database, tenant: str) -> None:
        self._database = database
        self._tenant = tenant

    async def rate(self, message_id: str, rating: Rating | None, note: str | None) -> Conversation:
        """Replace the rating of an answer; None removes the rating and its note. Returns the conversation.

        The conversation keeps its place in the list, and its version rises if the rating changes.

        Raises:
            NotFoundError: there is no such message.
            InvalidRequestError: the message is not an answer.
            ConflictError: the answer is still being generated.
            LimitReachedError: the note exceeds the tenant's limit on stored bytes.
        """

        def update(connection: DatabaseConnection) -> Conversation:
            row = connection.fetch_one(SHOWN_MESSAGE, (message_id, self._tenant))
            if row is None:
                raise no_message(message_id)
            message = message_of(row)
            if message.role != "assistant":
                raise InvalidRequestError("Only an answer can be rated", param="id")
            if message.status == "in_progress":
                raise ConflictError("This answer is still being generated", code="run_in_progress")
            conversation = about_to_change(connection, self._tenant, message.conversation_id)
            wanted = (rating, note if rating is not None else None)
            if wanted == (message.rating, message.rating_note):
                return conversation
            connection.execute("UPDATE message SET rating = ?, rating_note = ? WHERE id = ?", (*wanted, message_id))
            connection.execute("UPDATE conversation SET version = version + 1 WHERE id = ?", (conversation.id,))
            check_size(connection, self._tenant)
            return about_to_change(connection, self._tenant, conversation.id)

        return await self._database.write(update)
