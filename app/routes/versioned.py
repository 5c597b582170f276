"""Versions of conversations: the ETag of responses, and the If-Match that clients send back.

ETag and If-Match follow RFC 9110, sections 8.8.3 and 13.1.1, with one difference: the tag identifies the user's changes
to the conversation, not the bytes of the response. A tag that a proxy has weakened therefore still matches.
"""

import re

from starlette.requests import Request
from starlette.responses import JSONResponse

from app.domain.records import Conversation
from app.schemas.response_bodies.conversations import conversation_body
from app.services import services_of
from app.storage.versions import Versions

VERSIONED = ("If-Match",)
"""Headers of operations that check versions."""

_TAG = re.compile(r'(?:W/)?"(\d{1,18})"', re.ASCII)


def changed(request: Request, conversation: Conversation, status: int = 200) -> JSONResponse:
    """Announce a change to the tenant's other pages, and return the conversation with its version as ETag."""
    services = services_of(request)
    services.records.changes.announce(services.store.tenant, conversation.id)
    return JSONResponse(conversation_body(conversation), status, version_headers(conversation.version))


def version_headers(version: int) -> dict[str, str]:
    """Return the headers of a response that has a conversation's version as ETag."""
    return {"ETag": f'"{version}"', "Cache-Control": "no-store"}


def expected_versions(request: Request) -> Versions:
    """Parse the versions that If-Match names. None if the header is missing or `*`.

    A tag that is not one of Ebb's versions is left out, and so matches nothing.
    """
    given = request.headers.get("if-match")
    if given is None or given.strip() == "*":
        return None
    found = (_TAG.fullmatch(tag.strip()) for tag in given.split(","))
    return frozenset(int(match[1]) for match in found if match is not None)
