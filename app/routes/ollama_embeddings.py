"""POST /api/embed and POST /api/embeddings of Ollama's API."""

import time

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from app.apis.ollama.embed_schema import OllamaEmbeddingsRequest, OllamaEmbedRequest
from app.apis.ollama.model_name import adapter_of_tagged, tagged_model
from app.http.operation import Operation
from app.prompts.tokenization import apart_if
from app.routes.kept_models import keep_alive
from app.services import services_of
from app.serving.embedding import FEW_TEXTS, NOTHING, embed


async def embed_texts(request: Request, fields: OllamaEmbedRequest) -> Response:
    """Embed one or several texts with the model's final hidden states."""
    started, host = time.perf_counter(), services_of(request).model.host
    engine = tagged_model(host, fields.model)
    adapter = adapter_of_tagged(host, fields.model)
    texts, cuts = fields.texts(), fields.truncate is not False
    embedded = await embed(request, engine, texts, fields.urgency(), cuts=cuts, adapter=adapter) if texts else NOTHING
    keep_alive(host, fields.model, fields.keep_alive)
    size = fields.check_dimensions(engine.retrieval.dimensions, embedded.size) if texts else 0
    is_long = len(texts) > FEW_TEXTS
    return await apart_if(is_long, lambda: JSONResponse(fields.body(embedded.shortened(size), started)))


async def embed_prompt(request: Request, fields: OllamaEmbeddingsRequest) -> Response:
    """Embed one text, as Ollama's older route."""
    host = services_of(request).model.host
    engine = tagged_model(host, fields.model)
    adapter = adapter_of_tagged(host, fields.model)
    texts = fields.texts()
    embedded = await embed(request, engine, texts, fields.urgency(), cuts=True, adapter=adapter) if texts else NOTHING
    keep_alive(host, fields.model, fields.keep_alive)
    return JSONResponse({"embedding": [value for vector in embedded.vectors for value in vector]})


operations = [
    Operation("POST", "/api/embed", embed_texts, needs_model=True),
    Operation("POST", "/api/embeddings", embed_prompt, needs_model=True),
]
