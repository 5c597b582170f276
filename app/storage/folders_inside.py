"""The condition that a conversation is in a folder or in one inside it."""

from typing import Final

INSIDE: Final = (
    "(WITH RECURSIVE inside(id) AS (SELECT id FROM folder WHERE id = ? "
    "UNION SELECT folder.id FROM folder JOIN inside ON folder.parent_id = inside.id) SELECT id FROM inside)"
)
"""Query for the ids of a folder, the next parameter, and of those inside it."""
