"""GET /metrics."""

from prometheus_client import CONTENT_TYPE_LATEST
from starlette.requests import Request
from starlette.responses import Response

from app.http.media_types import PLAIN
from app.http.operation import Operation
from app.services import server_services


async def metrics(request: Request) -> Response:
    """Return the metrics as Prometheus text."""
    return Response(await server_services(request).metrics.text(), headers={"Content-Type": CONTENT_TYPE_LATEST})


operations = [
    Operation("GET", "/metrics", metrics, media=(PLAIN,), access="admin"),
]
