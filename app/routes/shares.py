"""Links to chats: making, listing and deleting them, and the page that they lead to, without any script."""

import time
from functools import partial

from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response

from app.domain.digests import digest_of
from app.domain.records import new_id
from app.domain.share import ShareLink, new_secret
from app.http.error_responses import ForbiddenError
from app.http.media_types import HTML
from app.http.operation import Operation
from app.schemas.shares import NewShare, ShareFields, Shares, share_body
from app.services import server_services, services_of
from engine.api.errors import ConflictError, OverloadedError

DAY_SECONDS = 86_400
MAX_SECRET = 128

VIEWS_PER_MINUTE = 120
"""Views of one link in a minute."""


async def share_conversation(request: Request, fields: ShareFields) -> Response:
    """Make a link to a conversation as it is now. Only this response contains the address."""
    services = services_of(request)
    if not services.share_links:
        raise ForbiddenError("Links to chats are turned off on this server (--share-links)", code="share_links_off")
    conversation = await services.store.conversations.get(request.path_params["id"])
    if conversation.head_id is None:
        raise ConflictError("The conversation has no messages to share", code="conversation_empty")
    now, secret = time.time(), new_secret()
    share = ShareLink(
        id=new_id("share"),
        tenant=services.store.tenant,
        conversation_id=conversation.id,
        message_id=conversation.head_id,
        title=conversation.title,
        shows_receipts=fields.receipts,
        created_at=now,
        expires_at=now + fields.days * DAY_SECONDS,
    )
    await services.store.shares.add(share, digest_of(secret))
    return JSONResponse(NewShare(**share_body(share), path=f"/share/{secret}"), 201)


async def list_shares(request: Request) -> Response:
    """List the links that have not expired, the newest first."""
    shares = await services_of(request).store.shares.all()
    return JSONResponse(Shares(data=[share_body(each) for each in shares]))


async def delete_share(request: Request) -> Response:
    """Delete a link, and with it the page."""
    await services_of(request).store.shares.remove(request.path_params["id"])
    return Response(status_code=204)


async def shared_chat(request: Request) -> Response:
    """Show the chat that a link leads to."""
    # The renderer of Markdown is loaded for the first view, and not at the start.
    from app.conversations.shared_page import HEADERS, busy_page, gone_page
    from app.conversations.shared_page_texts import texts_for

    services, secret = server_services(request), request.path_params["secret"]
    texts = texts_for(request.headers.get("accept-language", ""))
    share = None
    if services.share_links and len(secret) <= MAX_SECRET:
        share = await services.store.shares.find(digest_of(secret))
    if share is None or services.access.ring.people.shuts_out(share.tenant):
        return HTMLResponse(gone_page(texts), 404, headers=dict(HEADERS))
    wait = services.shared_pages.seconds_until_view(share, VIEWS_PER_MINUTE)
    if wait > 0:
        headers = {**HEADERS, "Retry-After": str(int(wait) + 1)}
        return HTMLResponse(busy_page(texts), 429, headers=headers)
    try:
        page = await services.shared_pages.page(share, partial(services.store.shares.messages, share), texts)
    except OverloadedError as error:
        headers = {**HEADERS, "Retry-After": str(error.retry_after)}
        return HTMLResponse(busy_page(texts), 429, headers=headers)
    return HTMLResponse(page, headers=dict(HEADERS))


operations = [
    Operation(
        "POST", "/api/conversations/{id}/shares", share_conversation, answer=NewShare, status=201, right="share-links"
    ),
    Operation("GET", "/api/shares", list_shares, answer=Shares),
    Operation("DELETE", "/api/shares/{id}", delete_share, status=204),
    Operation("GET", "/share/{secret}", shared_chat, media=(HTML,), access="open"),
]
