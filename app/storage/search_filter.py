"""Bounds of a search: the messages and titles among which the words are looked for."""

from dataclasses import dataclass

from app.domain.records import Role
from app.storage.connection import Parameters
from app.storage.dialect import Dialect
from app.storage.list_filter import INSIDE


@dataclass(frozen=True, slots=True)
class SearchFilter:
    """Conditions that all results meet. None sets no condition.

    since, until: seconds since the epoch. A message is created in this time, the end excluded, and a conversation that
        is found by its title was last changed in it.
    folder_id: the folder that the conversation is in, or that holds its folder.
    archived: whether the conversation is archived.
    """

    role: Role | None = None
    since: float | None = None
    until: float | None = None
    folder_id: str | None = None
    tag: str | None = None
    archived: bool | None = None

    def of_messages(self, dialect: Dialect) -> tuple[str, Parameters]:
        """Return the SQL of the conditions on the tables message and conversation, and its parameters."""
        role = [("message.role = ?", self.role)]
        return _joined(role + self._dated("message.created_at") + self._of_conversation(dialect))

    def of_titles(self, dialect: Dialect) -> tuple[str, Parameters]:
        """Return the SQL of the conditions on the table conversation, and its parameters. The role is no condition."""
        return _joined(self._dated("conversation.updated_at") + self._of_conversation(dialect))

    def of_chats(self, dialect: Dialect) -> tuple[str, Parameters]:
        """Return the SQL of the conditions on a conversation apart from its time, and its parameters."""
        return _joined(self._of_conversation(dialect))

    def _dated(self, column: str) -> list[tuple[str, object]]:
        return [(f"{column} >= ?", self.since), (f"{column} < ?", self.until)]

    def _of_conversation(self, dialect: Dialect) -> list[tuple[str, object]]:
        return [
            (f"conversation.folder_id IN {INSIDE}", self.folder_id),
            # Most chats have no tags, and JSON takes long to read.
            (f"tags IS NOT NULL AND ? IN ({dialect.json_strings('conversation.tags')})", self.tag),
            ("archived = ?", self.archived),
        ]


ANYTHING = SearchFilter()


def _joined(conditions: list[tuple[str, object]]) -> tuple[str, Parameters]:
    given = [(condition, value) for condition, value in conditions if value is not None]
    return "".join(f" AND {condition}" for condition, _ in given), tuple(value for _, value in given)
