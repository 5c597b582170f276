"""Request and response bodies of POST /v1/rerank and POST /v2/rerank.

Sources: https://docs.cohere.com/v2/reference/rerank, https://docs.cohere.com/v1/reference/rerank and
https://api.jina.ai/redoc.
"""

from typing import Annotated, Any, ClassVar

from pydantic import Field, Tag

from app.domain.bounds import MAX_RANKED
from app.schemas.embedding import EmbeddingRequest
from app.schemas.examples import MODEL
from app.schemas.parsing import CompatibleRequest, by_kind, optional
from app.serving.ranking import Pair, Scored

GivenText = Annotated[str, Field(min_length=1)]


class RankedDocument(CompatibleRequest):
    """A document as an object."""

    text: GivenText


def _document_kind(value: object) -> str | None:
    if isinstance(value, dict | RankedDocument):
        return "<object>"
    return "<text>" if isinstance(value, str) else None


Document = Annotated[
    Annotated[GivenText, Tag("<text>")] | Annotated[RankedDocument, Tag("<object>")],
    by_kind(_document_kind, "a text or an object with a text"),
]


class RerankRequest(EmbeddingRequest):
    """A request for the documents in the order in which they answer a query."""

    examples = (
        {"model": MODEL, "query": "When is high tide?", "documents": ["At six.", "Bread needs salt."], "top_n": 1},
    )

    ignored: ClassVar[frozenset[str]] = frozenset({"max_chunks_per_doc", "rank_fields", "truncation", "user"})

    query: Annotated[GivenText, Field(description="the text by which the documents are ranked")]
    documents: Annotated[
        list[Document],
        Field(min_length=1, max_length=MAX_RANKED, description="texts, or objects with a `text`"),
    ]
    top_n: Annotated[int, Field(ge=1, lt=1 << 31)] | None = optional(
        "number of the best documents to return; default all"
    )
    return_documents: bool | None = optional("returns each document's text with its score")
    max_tokens_per_doc: Annotated[int, Field(ge=1, lt=1 << 31)] | None = optional(
        "number of tokens to which a document is cut; by default, a document that is too long is refused"
    )

    @property
    def texts(self) -> list[str]:
        """The documents' texts."""
        return [each if isinstance(each, str) else each.text for each in self.documents]

    def pairs(self) -> list[Pair]:
        """List the pairs to score, with the paths of the documents."""
        return [Pair(self.query, text, f"documents[{index}]") for index, text in enumerate(self.texts)]

    def results(self, scored: Scored) -> list[dict[str, Any]]:
        """Return the best documents, the best one first. Equal ones keep their order."""
        texts = self.texts
        order = sorted(range(len(texts)), key=lambda index: -scored.scores[index])
        return [
            {"index": index, "relevance_score": scored.scores[index]}
            | ({"document": {"text": texts[index]}} if self.return_documents else {})
            for index in order[: self.top_n]
        ]

    def body(self, scored: Scored, model: str, request_id: str) -> dict[str, Any]:
        """Return the response body of the first version, with the fields of Jina's."""
        return {
            "id": request_id,
            "model": model,
            "results": self.results(scored),
            "usage": {"prompt_tokens": scored.num_tokens, "total_tokens": scored.num_tokens},
        }

    def second_body(self, scored: Scored, request_id: str) -> dict[str, Any]:
        """Return the response body of the second version."""
        return {
            "id": request_id,
            "results": self.results(scored),
            "meta": {"api_version": {"version": "2"}, "tokens": {"input_tokens": scored.num_tokens}},
        }
