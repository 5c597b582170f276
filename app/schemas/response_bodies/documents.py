"""Response body of /api/document-text."""

from typing_extensions import TypedDict


class DocumentText(TypedDict):
    """The text of a document, as Markdown."""

    text: str
