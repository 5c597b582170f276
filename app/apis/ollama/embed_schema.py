"""Request and response bodies of POST /api/embed and of the older POST /api/embeddings."""

import time
from typing import Annotated, Any, ClassVar

from pydantic import Field, Tag

from app.apis.ollama.keep_alive import KeepAliveFields
from app.domain.bounds import MAX_EMBEDDED
from app.schemas.embedding import EmbeddingRequest, SizedEmbeddingRequest
from app.schemas.examples import MODEL
from app.schemas.parsing import TEXT_OR_LIST, optional
from app.serving.embedding import Embedded
from app.serving.texts import Text

Input = Annotated[
    Annotated[str, Tag("<text>")] | Annotated[list[str], Field(max_length=MAX_EMBEDDED), Tag("<list>")],
    TEXT_OR_LIST,
]


class OllamaEmbedRequest(KeepAliveFields, SizedEmbeddingRequest):
    """A request for the embeddings of one or several texts. Without a text, it asks whether the model is loaded."""

    examples = ({"model": MODEL, "input": ["Once", "Twice"], "truncate": False}, {"model": MODEL})

    ignored: ClassVar[frozenset[str]] = frozenset({"options"})

    input: Input | None = optional("a text or a list of texts, of which each gets an embedding")
    truncate: bool | None = optional("`false` refuses a text that is longer than the window; by default its end is cut")

    def texts(self) -> list[Text]:
        """List the texts with their paths."""
        if isinstance(self.input, list):
            return [Text(each, f"input[{index}]") for index, each in enumerate(self.input)]
        return [Text(self.input, "input")] if self.input else []

    def body(self, embedded: Embedded, started: float) -> dict[str, Any]:
        """Return the response body. started: when the request began, on time.perf_counter."""
        return {
            "model": self.model,
            "embeddings": [list(vector) for vector in embedded.vectors],
            "total_duration": round((time.perf_counter() - started) * 1e9),
            "load_duration": 0,
            "prompt_eval_count": embedded.num_tokens,
        }


class OllamaEmbeddingsRequest(KeepAliveFields, EmbeddingRequest):
    """A request of the older route for the embedding of one text."""

    examples = ({"model": MODEL, "prompt": "Once"},)

    ignored: ClassVar[frozenset[str]] = frozenset({"options"})

    prompt: str | None = optional("a text, whose end is cut if it is longer than the window")

    def texts(self) -> list[Text]:
        """List the text with its path; empty without one."""
        return [Text(self.prompt, "prompt")] if self.prompt else []
