"""Hints for requests of paths that do not exist: a base URL that is not quite right, or an API that Ebb lacks."""

import re
from typing import Final

_BASE: Final = "The base URL of {} ends with {}."
_OF_OPENAI: Final = _BASE.format("OpenAI's clients", "/v1")
_OF_ANTHROPIC: Final = _BASE.format("Anthropic's clients", "the port, without /v1")
_LACKS: Final = "This server does not have this API: docs/reference/api lists what it has."

_HINTS: Final = (
    (re.compile(r"/v1/v1/messages\b"), _OF_ANTHROPIC),
    (re.compile(r".*//|/v1/v1/|/openai/deployments/|/v1/api/"), _OF_OPENAI),
    (re.compile(r"/(?:chat/completions|completions|embeddings|responses|models)\b"), _OF_OPENAI),
    (re.compile(r"/messages\b"), _OF_ANTHROPIC),
    (re.compile(r"/v1/chat/completions/."), "Chat completions are not stored: use /v1/responses."),
    (re.compile(r"/v1/"), _LACKS),
)
"""Beginnings of paths, of which the first that matches counts, and the sentence for each."""


def hint_for(path: str) -> str | None:
    """Return a sentence on what to do about a path that does not exist; None if there is nothing to say."""
    return next((hint for beginning, hint in _HINTS if beginning.match(path)), None)
