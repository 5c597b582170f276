"""The lists of conversations: which ones each of them has."""

from dataclasses import dataclass
from typing import Final

from app.domain.records import ConversationSource
from app.storage.connection import Parameters
from app.storage.dialect import Dialect

INSIDE: Final = (
    "(WITH RECURSIVE inside(id) AS (SELECT id FROM folder WHERE id = ? "
    "UNION SELECT folder.id FROM folder JOIN inside ON folder.parent_id = inside.id) SELECT id FROM inside)"
)
"""Query for the ids of a folder, the next parameter, and of those inside it."""

TOP: Final = "top"
"""The list that is not of a folder: conversations that are pinned, or in no folder."""


@dataclass(frozen=True, slots=True)
class ListFilter:
    """The conversations of a list. None stands for any.

    archived: whether they are archived.
    pinned: whether they are pinned.
    shown_in: TOP, or the folder that they are directly in.
    folder_id: folder that they are in, also inside another one.
    tag: tag that they have.
    """

    source: ConversationSource = "chat"
    archived: bool = False
    pinned: bool | None = None
    shown_in: str | None = None
    folder_id: str | None = None
    tag: str | None = None

    def of(self, tenant: str, dialect: Dialect) -> tuple[str, Parameters]:
        """Return the SQL of the list of a tenant, from FROM to its conditions, and the parameters.

        The indexes of the lists have the same conditions, word by word.
        """
        at_top = "AND (pinned OR folder_id IS NULL) = TRUE" if self.shown_in == TOP else ""
        limits: list[tuple[str, object]] = [
            ("pinned = ?", self.pinned),
            ("folder_id = ?", None if self.shown_in == TOP else self.shown_in),
            (f"folder_id IN {INSIDE}", self.folder_id),
            # Most chats have no tags, and JSON takes long to read.
            (f"tags IS NOT NULL AND ? IN ({dialect.json_strings('tags')})", self.tag),
        ]
        given = [(condition, value) for condition, value in limits if value is not None]
        sql = (
            "FROM shown_conversation WHERE tenant = ? AND source = ? AND archived = ? AND NOT temporary "
            f"{at_top}{''.join(f' AND {condition}' for condition, _ in given)}"
        )
        return sql, (tenant, self.source, self.archived, *(value for _, value in given))


CHATS: Final = ListFilter()
"""The chats of the page outside the archive."""
