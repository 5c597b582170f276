"""Request and response bodies of POST /v1/embeddings."""

import sys
from array import array
from base64 import b64encode
from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field, Tag

from app.apis.openai.completions_schema import BY_PROMPT, PromptIds
from app.domain.bounds import MAX_EMBEDDED
from app.schemas.embedding import SizedEmbeddingRequest
from app.schemas.examples import MODEL
from app.schemas.parsing import optional
from app.schemas.sampling import TokenId
from app.serving.embedding import Embedded
from app.serving.texts import Text

GivenText = Annotated[str, Field(min_length=1)]
Texts = Annotated[
    Annotated[GivenText, Tag("<text>")]
    | Annotated[list[GivenText], Field(min_length=1, max_length=MAX_EMBEDDED), Tag("<texts>")]
    | Annotated[list[TokenId], Field(min_length=1), Tag("<ids>")]
    | Annotated[list[PromptIds], Field(max_length=MAX_EMBEDDED), Tag("<id lists>")],
    BY_PROMPT,
]


class EmbeddingsRequest(SizedEmbeddingRequest):
    """A request for the embeddings of texts, each given as a text or as token ids."""

    examples = (
        {"model": MODEL, "input": "Once", "encoding_format": "base64"},
        {"model": MODEL, "input": [[72, 105], [257]], "timeout": 5},
    )

    ignored: ClassVar[frozenset[str]] = frozenset({"user"})
    neutral: ClassVar[Mapping[str, tuple[Any, ...]]] = {"embd_normalize": (2,)}

    input: Annotated[
        Texts, Field(description="a text, token ids, or a list of either, of which each gets an embedding")
    ]
    encoding_format: Literal["float", "base64"] | None = optional(
        "`base64` encodes the float32 values of an embedding, little-endian, instead of listing them"
    )

    def texts(self) -> list[Text]:
        """List the texts with their paths."""
        given: Any = self.input
        if isinstance(given, str) or isinstance(given[0], int):
            return [Text(given, "input")]
        return [Text(each, f"input[{index}]") for index, each in enumerate(given)]

    def body(self, embedded: Embedded, model: str) -> dict[str, Any]:
        """Return the response body."""
        written = _base64 if self.encoding_format == "base64" else list
        return {
            "object": "list",
            "data": [
                {"object": "embedding", "index": index, "embedding": written(vector)}
                for index, vector in enumerate(embedded.vectors)
            ],
            "model": model,
            "usage": {"prompt_tokens": embedded.num_tokens, "total_tokens": embedded.num_tokens},
        }


def _base64(vector: "array[float]") -> str:
    if sys.byteorder == "big":
        vector = array("f", vector)
        vector.byteswap()
    return b64encode(vector.tobytes()).decode()
