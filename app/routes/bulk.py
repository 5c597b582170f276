"""Changes and exports of several conversations at once."""

from collections.abc import AsyncIterator, Iterable

from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse

from app.domain.records import Conversation
from app.http.attachment import attachment
from app.http.operation import Operation
from app.routes.transfer import exported_file
from app.schemas.bulk import BulkFields, SelectedConversations
from app.schemas.response_bodies.conversations import BulkResult
from app.services import services_of
from app.storage.store import Store
from engine.api.errors import NotFoundError


async def change_conversations(request: Request, fields: BulkFields) -> Response:
    """Change, delete or restore several conversations. The response names unknown ones."""
    services = services_of(request)
    ids = list(dict.fromkeys(fields.conversation_ids))
    if fields.deleted is None:
        changed = await services.store.conversations.change_many(ids, fields.changes(), fields.tags_of)
        if fields.pinned is not None:
            services.model.pinned_kv.on_marked(services.store.tenant, changed, pinned=fields.pinned)
    elif fields.deleted:
        changed = await services.deletions.delete_conversations(ids)
    else:
        changed = await services.deletions.restore_conversations(ids)
    services.records.changes.announce(services.store.tenant)
    done = set(changed)
    return JSONResponse(BulkResult(changed=changed, missing=[each for each in ids if each not in done]))


async def export_conversations(request: Request, fields: SelectedConversations) -> Response:
    """Export the given conversations as one JSON file. Unknown ones are left out."""
    services = services_of(request)
    file = exported_file(services, _known(services.store, dict.fromkeys(fields.conversation_ids)))
    return StreamingResponse(file, media_type="application/json", headers=attachment("conversations", "json"))


async def _known(store: Store, ids: Iterable[str]) -> AsyncIterator[tuple[Conversation, str]]:
    for conversation_id in ids:
        try:
            known = await store.conversations.get(conversation_id), await store.conversations.export_id(conversation_id)
        except NotFoundError:
            continue
        yield known


operations = [
    Operation("POST", "/api/conversations/bulk", change_conversations, answer=BulkResult),
    Operation("POST", "/api/export", export_conversations, right="export"),
]
