"""Conversations in answers, with their versions, and the versions that clients send back.

ETag and If-Match as in RFC 9110, sections 8.8.3 and 13.1.1, but for one thing: the tag names what people did to the
conversation, not the bytes of the answer. A tag that a proxy made weak counts all the same.
"""

import re
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse

from app.records import Conversation
from app.storage.versions import Versions

_TAG = re.compile(r'(?:W/)?"(\d{1,18})"', re.ASCII)


def versioned(conversation: Conversation, status: int = 200, **more: Any) -> JSONResponse:
    """The conversation, and `more` fields beside its own."""
    headers = {"ETag": version_tag(conversation.version), "Cache-Control": "no-store"}
    return JSONResponse({**conversation.to_json(), **more}, status, headers)


def version_tag(version: int) -> str:
    """The value of ETag."""
    return f'"{version}"'


def expected_versions(request: Request) -> Versions:
    """Those that If-Match names; None if it is left out or `*`. What is no version of ours matches none."""
    given = request.headers.get("if-match")
    if given is None or given.strip() == "*":
        return None
    found = (_TAG.fullmatch(tag.strip()) for tag in given.split(","))
    return frozenset(int(match[1]) for match in found if match is not None)
