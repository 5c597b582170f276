"""The full-text index of earlier versions, which is removed in batches.

DROP TABLE alone would write all pages of the table in one transaction.
"""

from typing import Final

from app.storage.connection import DatabaseConnection

BATCH_ROWS: Final = 2_000
TABLES: Final = ("search_text_content", "search_text_docsize", "search_text_data")
"""Tables in which FTS5 keeps the index."""


def clear_former_index(connection: DatabaseConnection) -> bool:
    """Remove a batch of the rows of the table `search_text`, or the empty table. Return whether rows may be left."""
    if clear_former_rows(connection):
        return True
    connection.execute("DROP TABLE IF EXISTS search_text")
    return False


def clear_former_rows(connection: DatabaseConnection) -> bool:
    """Remove a batch of the rows of the table `search_text`. Return whether there were any."""
    for table in TABLES:
        if not connection.fetch_all("SELECT 1 FROM sqlite_schema WHERE name = ?", (table,)):
            continue
        # FTS5 reads the first rows of its data when the table is dropped.
        rows = f"SELECT id FROM {table} WHERE id > 10 LIMIT {BATCH_ROWS}"
        if connection.execute(f"DELETE FROM {table} WHERE id IN ({rows})"):
            return True
    return False
