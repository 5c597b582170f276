"""POST /api/document-text: the text of a docx, xlsx, pptx, epub or HTML file, which the page adds to a message."""

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from app.domain.bounds import MAX_DOCUMENT_BYTES
from app.http.client_presence import while_present
from app.http.media_types import BYTES
from app.http.operation import Operation, RawBody
from app.http.query_params import Query, Switch
from app.http.request_body import read_bytes
from app.schemas.response_bodies.documents import DocumentText
from app.services import services_of


class Document(Query):
    """Kind of the document. html: whether it is HTML, which its bytes do not tell."""

    html: Switch = False


async def read_document(request: Request, asked: Document) -> Response:
    """Return the text of the document in the body, as Markdown. Nothing is stored. The client's departure ends it."""
    services = services_of(request)
    data = await read_bytes(request, MAX_DOCUMENT_BYTES)
    reading = services.documents.text_of(data, is_html=asked.html, tenant=services.store.tenant)
    text = await while_present(request, reading)
    return JSONResponse(DocumentText(text=text))


operations = [
    Operation("POST", "/api/document-text", read_document, body=RawBody(BYTES), answer=DocumentText, right="files"),
]
