"""POST /api/document-text: the text of a docx, xlsx, pptx, epub or HTML file, which the page adds to a message."""

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from app.domain.bounds import MAX_DOCUMENT_BYTES
from app.http.client_presence import while_present
from app.http.query_params import flag
from app.http.request_body import read_bytes
from app.routes.rights import needs
from app.schemas.response_bodies.documents import DocumentText
from app.services import services_of


async def read_document(request: Request) -> Response:
    """Return the text of the document in the body, as Markdown. Nothing is stored. The client's departure ends it."""
    services, is_html = services_of(request), flag(request, "html")
    data = await read_bytes(request, MAX_DOCUMENT_BYTES)
    reading = services.documents.text_of(data, is_html=is_html, tenant=services.store.tenant)
    text = await while_present(request, reading)
    return JSONResponse(DocumentText(text=text))


routes = [Route("/api/document-text", needs("files", read_document), methods=["POST"])]
