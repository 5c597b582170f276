"""GET /metrics."""

from prometheus_client import CONTENT_TYPE_LATEST
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from app.services import services_of


async def metrics(request: Request) -> Response:
    """Prometheus text."""
    return Response(await services_of(request).metrics.text(), headers={"Content-Type": CONTENT_TYPE_LATEST})


routes = [Route("/metrics", metrics)]
