"""Media types of requests and responses."""

from typing import Final

JSON: Final = "application/json"
LINES: Final = "application/x-ndjson"
EVENTS: Final = "text/event-stream"
MARKDOWN: Final = "text/markdown"
PLAIN: Final = "text/plain"
HTML: Final = "text/html"
BYTES: Final = "application/octet-stream"
FORM: Final = "application/x-www-form-urlencoded"
