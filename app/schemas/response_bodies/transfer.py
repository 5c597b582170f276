"""Response body of an import."""

from typing_extensions import TypedDict


class Imported(TypedDict):
    """Result of an import.

    imported: ids of the conversations that were created.
    skipped: ids in the file of the conversations that had been imported before.
    """

    imported: list[str]
    skipped: list[str]
