"""POST /v1/rerank and POST /v2/rerank, as Cohere's and Jina's, and POST /v1/score, as vLLM's."""

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from app.apis.ranking.rerank_schema import RerankRequest
from app.apis.ranking.score_schema import ScoreRequest
from app.http.operation import Operation
from app.schemas.embedding import EmbeddingRequest
from app.services import services_of
from app.serving.ranking import RankingCall


async def rerank(request: Request, fields: RerankRequest) -> Response:
    """Rank documents by a query."""
    call = _call(request, fields, fields.max_tokens_per_doc)
    scored = await call.score(fields.pairs())
    return JSONResponse(fields.body(scored, call.adapter or call.engine.model_name, request.state.request_id))


async def rerank_second(request: Request, fields: RerankRequest) -> Response:
    """Rank documents by a query, as the second version of Cohere's API."""
    scored = await _call(request, fields, fields.max_tokens_per_doc).score(fields.pairs())
    return JSONResponse(fields.second_body(scored, request.state.request_id))


async def score(request: Request, fields: ScoreRequest) -> Response:
    """Score pairs of texts."""
    call = _call(request, fields)
    scored = await call.score(fields.pairs())
    return JSONResponse(fields.body(scored, call.adapter or call.engine.model_name, request.state.request_id))


def _call(request: Request, fields: EmbeddingRequest, most_tokens: int | None = None) -> RankingCall:
    host = services_of(request).model.host
    return RankingCall(
        request=request,
        engine=host.require(fields.model),
        urgency=fields.urgency(),
        adapter=host.adapter_of(fields.model),
        most_tokens=most_tokens,
    )


operations = [
    Operation("POST", "/v1/rerank", rerank, needs_model=True),
    Operation("POST", "/v2/rerank", rerank_second, needs_model=True),
    Operation("POST", "/v1/score", score, needs_model=True),
]
