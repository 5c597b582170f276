"""Texts of documents over a real socket, each read by a real child process."""

import io
import time
from collections.abc import Callable

import aiohttp
import pytest

from app.documents.extraction import SECONDS, DocumentReader
from app.domain.bounds import MAX_DOCUMENT_TEXT
from engine.testing.replay_engine import ReplayEngine
from tests.document_files import docx, docx_paragraph, epub, pptx_file, xlsx, zip_of
from tests.integration.api_server import RunningServer
from tests.integration.conversations_client import error_of

Api = RunningServer[ReplayEngine]

ROUTE = "/api/document-text"
TABLE = "<w:tbl><w:tr><w:tc>{}</w:tc><w:tc>{}</w:tc></w:tr></w:tbl>"
HTML = (
    "<html><head><style>p {}</style></head><body><h1>潮汐</h1><script>x</script><p>High <b>water</b></p></body></html>"
)


@pytest.mark.parametrize(
    ("data", "query", "text"),
    [
        (docx(docx_paragraph("High water") + TABLE.format(docx_paragraph("a"), docx_paragraph("b"))), "", "High water"),
        (xlsx(), "", '## Tides\n\nday,"height, m"\nMonday,4.5'),
        (pptx_file(), "", "## Slide 1\n\nSpring tides\n\nFundy | 16 m\n\nNotes: Speak slowly"),
        (epub(), "", "# Ebb\n\nHigh water at six."),
        (HTML.encode(), "?html=true", "# 潮汐\n\nHigh **water**"),
        (HTML.replace("<head>", '<head><meta charset="gb18030">').encode("gb18030"), "?html=true", "# 潮汐"),
    ],
    ids=["docx", "xlsx", "pptx", "epub", "html", "html-gb18030"],
)
async def test_text_of_document_is_read(http: aiohttp.ClientSession, data: bytes, query: str, text: str) -> None:
    response = await http.post(ROUTE + query, data=io.BytesIO(data))
    assert response.status == 200, await response.text()
    assert (await response.json())["text"].startswith(text)


ENTITIES = '<!DOCTYPE x [<!ENTITY a "ha">]><container xmlns="c"><rootfile full-path="&a;"/></container>'
DRM = '<encryption><CipherReference URI="text/2.xhtml"/></encryption>'


@pytest.mark.parametrize(
    ("make", "code"),
    [
        (lambda: b"\x89PNG", "document_unknown"),
        (lambda: zip_of({"a.txt": "x"}), "document_unknown"),
        (lambda: zip_of({"word/document.xml": "<w:document"}), "document_broken"),
        (lambda: docx(""), "document_empty"),
        (lambda: docx(docx_paragraph("tide " * (MAX_DOCUMENT_TEXT // 5 + 1))), "document_too_big"),
        (lambda: epub(**{"META-INF/encryption.xml": DRM}), "document_encrypted"),
        (lambda: epub(**{"META-INF/container.xml": ENTITIES}), "document_broken"),
        (lambda: zip_of({"word/document.xml": " " * (257 << 20)}), "document_too_costly"),
    ],
    ids=["image", "zip", "damaged", "empty", "long", "encrypted", "entities", "bomb"],
)
async def test_unreadable_document_says_why(http: aiohttp.ClientSession, make: Callable[[], bytes], code: str) -> None:
    response = await http.post(ROUTE, data=io.BytesIO(make()))
    assert (await error_of(response, 422))["code"] == code


async def test_child_process_ends_at_its_limit_of_memory(http: aiohttp.ClientSession) -> None:
    # The parser holds several copies of so long a text, which is more than a gigabyte.
    long = epub(**{"text/2.xhtml": "tide " * (50 << 20)})
    started = time.monotonic()
    response = await http.post(ROUTE, data=io.BytesIO(long))
    assert (await error_of(response, 422))["code"] == "document_too_costly"
    assert time.monotonic() - started < SECONDS


async def test_child_process_is_killed_at_its_time_limit(http: aiohttp.ClientSession, api: Api) -> None:
    object.__setattr__(api.services, "documents", DocumentReader(seconds=0.01))
    response = await http.post(ROUTE, data=io.BytesIO(xlsx()))
    assert (await error_of(response, 422))["code"] == "document_too_costly"
