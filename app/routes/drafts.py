"""Unsent text: one draft per conversation, and one for the start page."""

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from app.http.operation import Operation
from app.schemas.conversations import DraftFields
from app.schemas.response_bodies import drafts as bodies
from app.services import services_of
from app.storage.drafts import Draft


async def get_draft(request: Request) -> Response:
    """Return the draft, with an empty text if nothing was saved."""
    store, conversation_id = services_of(request).store, request.path_params.get("id")
    if conversation_id is not None:
        await store.conversations.get(conversation_id)
    return JSONResponse(_body(await store.drafts.get(conversation_id)))


async def put_draft(request: Request, fields: DraftFields) -> Response:
    """Replace the draft."""
    draft = await services_of(request).store.drafts.put(request.path_params.get("id"), fields.text)
    return JSONResponse(_body(draft))


def _body(draft: Draft) -> bodies.Draft:
    return {"text": draft.text, "updated_at": draft.updated_at}


operations = [
    Operation("GET", "/api/draft", get_draft, answer=bodies.Draft),
    Operation("PUT", "/api/draft", put_draft, answer=bodies.Draft),
    Operation("GET", "/api/conversations/{id}/draft", get_draft, answer=bodies.Draft),
    Operation("PUT", "/api/conversations/{id}/draft", put_draft, answer=bodies.Draft),
]
