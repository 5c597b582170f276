"""POST /api/embed and POST /api/embeddings of Ollama's API."""

import time

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from app.apis.ollama.embed_schema import OllamaEmbeddingsRequest, OllamaEmbedRequest
from app.apis.ollama.model_name import check_tagged_model
from app.http.request_body import read_body
from app.prompts.tokenization import apart_if
from app.services import services_of
from app.serving.embedding import FEW_TEXTS, NOTHING, embed


async def embed_texts(request: Request) -> Response:
    """Embed one or several texts with the model's final hidden states."""
    started, host = time.perf_counter(), services_of(request).model.host
    engine = host.require()
    fields = await read_body(request, OllamaEmbedRequest)
    check_tagged_model(host, fields.model)
    texts, cuts = fields.texts(), fields.truncate is not False
    embedded = await embed(request, engine, texts, fields.urgency(), cuts=cuts) if texts else NOTHING
    if texts:
        fields.check_dimensions(embedded.size)
    return await apart_if(len(texts) > FEW_TEXTS, lambda: JSONResponse(fields.body(embedded, started)))


async def embed_prompt(request: Request) -> Response:
    """Embed one text, as Ollama's older route."""
    host = services_of(request).model.host
    engine = host.require()
    fields = await read_body(request, OllamaEmbeddingsRequest)
    check_tagged_model(host, fields.model)
    texts = fields.texts()
    embedded = await embed(request, engine, texts, fields.urgency(), cuts=True) if texts else NOTHING
    return JSONResponse({"embedding": [value for vector in embedded.vectors for value in vector]})


routes = [
    Route("/api/embed", embed_texts, methods=["POST"]),
    Route("/api/embeddings", embed_prompt, methods=["POST"]),
]
