"""Extraction of the text of documents, each in a child process with limits of memory and time."""

import asyncio
import json
import os
import sys
from asyncio.subprocess import DEVNULL, PIPE
from contextlib import suppress
from typing import Final

from app.documents.refusal import Refusal
from engine.api.errors import ClientError
from engine.process.fair_places import FairPlaces

SECONDS: Final = 30.0
"""Time for one document. The child process has less CPU time."""

PLACES: Final = 2
MOST_WAITING: Final = 16

MESSAGES: Final = {
    Refusal.UNKNOWN: "Unsupported file type: expected docx, xlsx, pptx, epub or HTML",
    Refusal.BROKEN: "The document is damaged and cannot be read",
    Refusal.ENCRYPTED: "The document is encrypted. Save a copy without a password",
    Refusal.EMPTY: "The document contains no text",
    Refusal.TOO_BIG: "The document has too much text. Send the part that matters",
    Refusal.TOO_COSTLY: "The document took too much memory or time to read. Send the part that matters",
}


class UnreadableDocumentError(ClientError):
    """The text of a document is not available."""

    status = 422

    def __init__(self, refusal: Refusal) -> None:
        super().__init__(MESSAGES[refusal], code=f"document_{refusal.value}")


class DocumentReader:
    """Child processes that read documents. Tenants take turns, and one tenant reads one document at a time."""

    def __init__(self, seconds: float = SECONDS) -> None:
        self._seconds = seconds
        self._places = FairPlaces(PLACES, most_of_one=1, most_waiting=MOST_WAITING)

    async def text_of(self, data: bytes, *, is_html: bool, tenant: str) -> str:
        """Return the text of a document, as Markdown.

        Raise UnreadableDocumentError, and OverloadedError if too many documents of the tenant are waiting.
        """
        async with self._places.place(tenant):
            output = await self._output(data, "html" if is_html else "archive")
        try:
            result = json.loads(output)
        except ValueError:
            # The process was killed at a limit.
            raise UnreadableDocumentError(Refusal.TOO_COSTLY) from None
        if "text" not in result:
            raise UnreadableDocumentError(Refusal(result["refusal"]))
        return str(result["text"])

    async def _output(self, data: bytes, kind: str) -> bytes:
        """Return what the child process wrote, which is incomplete if it was killed."""
        # The child knows where modules are, and nothing else of the server's environment.
        path = os.pathsep.join(folder for folder in sys.path if folder)
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            *("-B", "-P", "-m", "app.documents.child", kind),
            stdin=PIPE,
            stdout=PIPE,
            stderr=DEVNULL,
            env={"PYTHONPATH": path, "LANG": "C.UTF-8"},
            start_new_session=True,
        )
        try:
            async with asyncio.timeout(self._seconds):
                output, _ = await process.communicate(data)
            return output
        except TimeoutError:
            return b""
        finally:
            if process.returncode is None:
                with suppress(ProcessLookupError):
                    process.kill()
                await process.wait()
