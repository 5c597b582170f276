"""/api/conversations: the tree of messages of each chat, and new turns in it."""

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from app.event_stream import EventStream
from app.request_body import read_body
from app.runs import Run
from app.schemas.conversations import ConversationFields, NewMessage, RetryFields
from app.services import services_of


async def list_conversations(request: Request) -> Response:
    """All of them, newest first."""
    conversations = await services_of(request).store.all()
    return JSONResponse({"data": [conversation.to_json() for conversation in conversations]})


async def create_conversation(request: Request) -> Response:
    """A new, empty one."""
    fields = await read_body(request, ConversationFields)
    conversation = await services_of(request).store.create(fields.changes())
    return JSONResponse(conversation.to_json(), 201)


async def get_conversation(request: Request) -> Response:
    """One, with the messages on its current path."""
    services = services_of(request)
    conversation = await services.store.get(request.path_params["id"])
    path = await services.turns.shown_path(conversation)
    return JSONResponse({**conversation.to_json(), "messages": [message.to_json() for message in path]})


async def change_conversation(request: Request) -> Response:
    """Its title, system prompt or default parameters."""
    fields = await read_body(request, ConversationFields)
    conversation = await services_of(request).store.change(request.path_params["id"], fields.changes())
    return JSONResponse(conversation.to_json())


async def delete_conversation(request: Request) -> Response:
    """Remove it; what is being generated in it ends."""
    await services_of(request).turns.delete(request.path_params["id"])
    return Response(status_code=204)


async def post_message(request: Request) -> Response:
    """Ask something; the answer is a run, and the response a cursor on it."""
    services = services_of(request)
    services.host.require()
    fields = await read_body(request, NewMessage)
    return _followed(await services.turns.ask(request.path_params["id"], fields))


async def retry_message(request: Request) -> Response:
    """Answer a question once more, beside the answers that it has."""
    services = services_of(request)
    services.host.require()
    fields = await read_body(request, RetryFields)
    return _followed(await services.turns.retry(request.path_params["id"], fields))


def _followed(run: Run) -> Response:
    return EventStream(run.log.follow(after=0), headers={"X-Run-Id": run.id})


routes = [
    Route("/api/conversations", list_conversations),
    Route("/api/conversations", create_conversation, methods=["POST"]),
    Route("/api/conversations/{id}", get_conversation),
    Route("/api/conversations/{id}", change_conversation, methods=["PATCH"]),
    Route("/api/conversations/{id}", delete_conversation, methods=["DELETE"]),
    Route("/api/conversations/{id}/messages", post_message, methods=["POST"]),
    Route("/api/messages/{id}/retry", retry_message, methods=["POST"]),
]
