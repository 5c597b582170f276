"""POST /v1/embeddings."""

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from app.apis.openai.embeddings_schema import EmbeddingsRequest
from app.http.operation import Operation
from app.prompts.tokenization import apart_if
from app.services import services_of
from app.serving.embedding import FEW_TEXTS, embed


async def embeddings(request: Request, fields: EmbeddingsRequest) -> Response:
    """Embed texts or lists of token ids with the model's final hidden states."""
    host = services_of(request).model.host
    engine = host.require(fields.model)
    adapter = host.adapter_of(fields.model)
    embedded = await embed(request, engine, fields.texts(), fields.urgency(), adapter=adapter)
    size = fields.check_dimensions(engine.retrieval.dimensions, embedded.size)
    is_long = len(embedded.vectors) > FEW_TEXTS
    model = adapter or engine.model_name
    return await apart_if(is_long, lambda: JSONResponse(fields.body(embedded.shortened(size), model)))


operations = [
    Operation("POST", "/v1/embeddings", embeddings, needs_model=True),
]
