"""Request body of kept files."""

from typing import Annotated

from pydantic import Field

from app.domain.bounds import MAX_DOCUMENT_TEXT, MAX_FILE_NAME
from app.schemas.parsing import RequestModel


class KeptFileFields(RequestModel):
    """Body of a request that keeps the text of a file."""

    examples = ({"name": "tides.txt", "text": "High water at six."},)

    name: Annotated[str, Field(min_length=1, max_length=MAX_FILE_NAME)]
    text: Annotated[str, Field(min_length=1, max_length=MAX_DOCUMENT_TEXT)]
