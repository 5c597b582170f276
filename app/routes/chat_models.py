"""/api/models: the models that chats can have, what each would compute for a chat, and loads with their progress."""

import asyncio
from collections.abc import AsyncGenerator, Callable
from functools import partial
from typing import Any, Final

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from app.conversations.model_costs import turn_cost
from app.conversations.turns import sampling_of_chats
from app.host.backend import Backend
from app.host.engine_host import EngineHost
from app.host.served_model import ServedModel
from app.http.error_formats import error_body
from app.http.operation import Operation
from app.http.query_params import AnyText, Query
from app.schemas.models import ModelChoice
from app.schemas.response_bodies.chat_models import LOAD_EVENTS, ChatModel, ChatModels, LoadFailure, ModelProgress
from app.services import Services, server_services, services_of
from app.transport.direct_writer import DirectWriter
from app.transport.event_stream import EventStream
from app.transport.sse import named_frame
from engine.api.errors import EbbError
from engine.config import EngineConfig
from models.errors import ModelError
from models.retrieval.folder import gives_answers
from models.weights.folder import ModelFolder

SHOWN_SECONDS: Final = 0.2
"""Time between two events of a load. Its steps may follow each other faster."""


class ForChat(Query):
    """The conversation that a model would continue. The cost is left out without one."""

    conversation_id: AnyText | None = None


async def list_models(request: Request, asked: ForChat) -> Response:
    """List the models that chats can have, with their state and what a conversation would cost with each."""
    services = services_of(request)
    host = services.model.host
    host.require()
    data = [await _model(services, engine, asked.conversation_id) for engine in host.all_models]
    return JSONResponse(ChatModels(data=data))


async def _model(services: Services, engine: Backend, conversation_id: str | None) -> ChatModel:
    host = services.model.host
    entry, known = host.find(engine.model_name), host.known_model(engine.model_name)
    cost = None
    if known is not None and conversation_id is not None:
        cost = await turn_cost(known, services.turns, services.store, conversation_id)
    thinking = known.chat_format.thinking if known is not None else None
    describe = entry.describe if known is None and entry is not None else lambda: engine.config
    return {
        **_progress(host, engine.model_name),
        "answers": await asyncio.to_thread(_answers, describe),
        "default": engine is host.require(),
        "memory": entry.memory.total if entry is not None and entry.memory is not None else None,
        "max_model_len": known.max_model_len if known is not None else None,
        "sampling": dict(sampling_of_chats(known)) if known is not None else None,
        "thinking": None if known is None else list(thinking.modes) if thinking is not None else [],
        "tokens": cost.tokens if cost is not None else None,
        "computed": cost.computed if cost is not None else None,
    }


def _answers(describe: Callable[[], EngineConfig]) -> bool | None:
    """Return whether a model can answer; None if that is not known. Blocks."""
    try:
        return gives_answers(ModelFolder(describe().model.path))
    except (EbbError, ModelError):
        # A load of the model raises the same error.
        return None


def _progress(host: EngineHost, name: str) -> ModelProgress:
    entry = host.find(name)
    if entry is None:
        return {"name": name, "state": "loaded", "progress": None}
    return {"name": name, "state": entry.state, "progress": entry.progress or None}


async def load_model(request: Request, fields: ModelChoice) -> Response:
    """Load a model, and stream the steps until it is in memory.

    A chat does this before it asks a model that is not in memory, so that a person sees what the answer waits for.
    """
    host = server_services(request).model.host
    engine = host.require(fields.model)
    return EventStream(partial(_load, host, host.find(engine.model_name), engine.model_name), headers={})


async def _load(
    host: EngineHost, model: ServedModel | None, name: str, _writer: DirectWriter | None
) -> AsyncGenerator[bytes, None]:
    """Yield the frames of a load."""
    if host.models is not None and model is not None:
        waiting = asyncio.ensure_future(host.models.ready(model, host.models.patience(None)))
        try:
            shown = None
            while not waiting.done():
                if (progress := _progress(host, name)) != shown:
                    shown = progress
                    yield named_frame("loading", progress)
                await _changed(model, waiting)
            waiting.result()
        except EbbError as error:
            yield named_frame("error", LoadFailure(error=error_body(error)))
            return
        finally:
            waiting.cancel()
    yield named_frame("loaded", _progress(host, name))


async def _changed(model: ServedModel, waiting: "asyncio.Future[Any]") -> None:
    """Wait for the next step of a load, or for its end."""
    change = asyncio.ensure_future(model.next_change())
    try:
        await asyncio.wait({change, waiting}, return_when=asyncio.FIRST_COMPLETED)
        if not waiting.done():
            await asyncio.wait({waiting}, timeout=SHOWN_SECONDS)
    finally:
        change.cancel()


operations = [
    Operation("GET", "/api/models", list_models, answer=ChatModels),
    Operation("POST", "/api/models/load", load_model, needs_model=True, loads_model=False, events=LOAD_EVENTS),
]
