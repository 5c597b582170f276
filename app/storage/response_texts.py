"""Long texts of responses, stored once for all responses of a tenant that have them.

A client sends its instructions and tools with every request. A trigger counts a response out of its texts when the
response is deleted, and deletes the texts that no response has any more.
"""

import hashlib
from typing import Final

from app.storage.connection import DatabaseConnection

FIELDS: Final = ("instructions", "tools", "tool_choice", "text_format")
"""The fields of a response whose texts are shared."""
MIN_CHARACTERS: Final = 512
"""Length from which a text is shared. A shared one takes a row and a digest of its own."""

TEXTS: Final = ", ".join(
    f"coalesce((SELECT text FROM response_text WHERE number = response.{name}_number), response.{name}) AS {name}"
    for name in FIELDS
)
"""The columns of `FIELDS` in a query of `response`."""


def share_text(connection: DatabaseConnection, tenant: str, field: str, text: str | None) -> int | None:
    """Store a text of a response to be, inside the transaction of the caller, which inserts that response.

    Returns the number of the text; None if the text is too short to be shared.
    """
    if text is None or len(text) < MIN_CHARACTERS:
        return None
    digest = hashlib.sha256(f"{field}\0{text}".encode()).digest()
    [[number]] = connection.fetch_all(
        "INSERT INTO response_text(tenant, digest, uses, text) VALUES (?, ?, 1, ?) "
        "ON CONFLICT(tenant, digest) DO UPDATE SET uses = response_text.uses + 1 RETURNING number",
        (tenant, digest, text),
    )
    return int(number)
