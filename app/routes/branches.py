"""The tree of a conversation: its branches, the shown branch, forks, ratings, and deletion of single messages."""

from collections.abc import AsyncIterator

from starlette.requests import Request
from starlette.responses import Response

from app.domain.records import new_id
from app.http.large_json import json_in_parts
from app.http.operation import Operation
from app.http.query_params import Query, Switch
from app.routes.versioned import VERSIONED, changed, expected_versions, version_headers
from app.schemas.conversations import EditedAnswer, MessageChoice, RatingFields
from app.schemas.response_bodies import conversations as bodies
from app.schemas.response_bodies.conversations import Conversation, ConversationTree
from app.services import services_of
from app.storage.tree import Outline
from engine.api.errors import InvalidRequestError


class MessageDeletion(Query):
    """A deletion of a message and everything below it.

    alone: whether only its turn is deleted.
    permanently: whether it can never be restored.
    """

    alone: Switch = False
    permanently: Switch = False

    def __post_init__(self) -> None:
        """Raise InvalidRequestError for a combination that does not exist."""
        if self.alone and self.permanently:
            raise InvalidRequestError(
                "A turn that is deleted alone can be removed permanently afterwards", param="alone"
            )


async def get_tree(request: Request) -> Response:
    """Return every message of every branch, each with a preview of its text."""
    store = services_of(request).store
    conversation = await store.conversations.get(request.path_params["id"])

    async def messages() -> AsyncIterator[list[bodies.Outline]]:
        for ids in await store.messages.parts_of(conversation.id):
            yield [_outline(message) for message in await store.tree.outline(ids)]

    body = bodies.ConversationTree(head_id=conversation.head_id, version=conversation.version, messages=[])
    return await json_in_parts(body, messages(), version_headers(conversation.version))


async def choose_head(request: Request, chosen: MessageChoice) -> Response:
    """Show a branch with a message: the newest leaf below it becomes the head, unless the shown path has it."""
    return changed(
        request,
        await services_of(request).store.tree.show(
            request.path_params["id"], chosen.message_id, expected_versions(request)
        ),
    )


async def fork(request: Request, chosen: MessageChoice) -> Response:
    """Create a conversation that copies this one up to and including a message."""
    services = services_of(request)
    await services.records.runs.settle()
    return changed(request, await services.store.tree.fork(request.path_params["id"], chosen.message_id), 201)


async def edit_answer(request: Request, fields: EditedAnswer) -> Response:
    """Store an edited answer as a branch alongside the original, and show it."""
    services = services_of(request)
    await services.records.runs.settle()
    edited_id = fields.id or new_id("msg")
    edited = await services.store.tree.edit(
        request.path_params["id"], edited_id, fields.content, expected_versions(request)
    )
    return changed(request, edited, 201)


async def rate_answer(request: Request, fields: RatingFields) -> Response:
    """Rate an answer, or remove its rating."""
    services = services_of(request)
    await services.records.runs.settle()
    return changed(request, await services.store.ratings.rate(request.path_params["id"], fields.rating, fields.note))


async def delete_message(request: Request, asked: MessageDeletion) -> Response:
    """Hide a message and everything below it, or one turn alone. They can be restored for some days."""
    services = services_of(request)
    await services.records.runs.settle()
    return changed(
        request,
        await services.deletions.delete_message(
            request.path_params["id"], expected_versions(request), alone=asked.alone, permanently=asked.permanently
        ),
    )


async def restore_message(request: Request) -> Response:
    """Undo the deletion of a message and show its branch."""
    return changed(request, await services_of(request).deletions.restore_message(request.path_params["id"]))


def _outline(message: Outline) -> bodies.Outline:
    return {
        "id": message.id,
        "parent_id": message.parent_id,
        "role": message.role,
        "status": message.status,
        "preview": message.preview,
        "created_at": message.created_at,
    }


operations = [
    Operation("GET", "/api/conversations/{id}/tree", get_tree, answer=ConversationTree),
    Operation("PUT", "/api/conversations/{id}/head", choose_head, answer=Conversation, headers=VERSIONED),
    Operation("POST", "/api/conversations/{id}/fork", fork, answer=Conversation, status=201),
    Operation("POST", "/api/messages/{id}/edit", edit_answer, answer=Conversation, status=201, headers=VERSIONED),
    Operation("PUT", "/api/messages/{id}/rating", rate_answer, answer=Conversation, headers=VERSIONED),
    Operation("DELETE", "/api/messages/{id}", delete_message, answer=Conversation, headers=VERSIONED),
    Operation("POST", "/api/messages/{id}/restore", restore_message, answer=Conversation),
]
