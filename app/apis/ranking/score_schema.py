"""Request and response bodies of POST /v1/score.

Source: https://docs.vllm.ai/en/latest/models/pooling_models.html.
"""

import time
from typing import Annotated, Any, ClassVar

from pydantic import Field, Tag

from app.apis.ranking.rerank_schema import GivenText
from app.domain.bounds import MAX_RANKED
from app.schemas.embedding import EmbeddingRequest
from app.schemas.examples import MODEL
from app.schemas.parsing import TEXT_OR_LIST
from app.serving.ranking import Pair, Scored
from engine.api.errors import InvalidRequestError

OneOrMore = Annotated[
    Annotated[GivenText, Tag("<text>")]
    | Annotated[list[GivenText], Field(min_length=1, max_length=MAX_RANKED), Tag("<list>")],
    TEXT_OR_LIST,
]


class ScoreRequest(EmbeddingRequest):
    """A request for the scores of pairs of texts."""

    examples = ({"model": MODEL, "text_1": "When is high tide?", "text_2": ["At six.", "Bread needs salt."]},)

    ignored: ClassVar[frozenset[str]] = frozenset({"user"})

    text_1: Annotated[OneOrMore, Field(description="a query, or one for each text of `text_2`")]
    text_2: Annotated[OneOrMore, Field(description="a document or a list of documents")]

    def pairs(self) -> list[Pair]:
        """List the pairs to score. Raise InvalidRequestError unless there are one or equally many queries."""
        queries = [self.text_1] if isinstance(self.text_1, str) else self.text_1
        if isinstance(self.text_2, str):
            paths, documents = ["text_2"], [self.text_2]
        else:
            paths, documents = [f"text_2[{index}]" for index in range(len(self.text_2))], self.text_2
        if len(queries) == 1:
            queries = queries * len(documents)
        if len(queries) != len(documents):
            raise InvalidRequestError(
                f"text_1 has {len(queries)} texts, and text_2 has {len(documents)}. "
                "Send one text as text_1, or as many as text_2 has.",
                param="text_1",
            )
        return [Pair(*pair) for pair in zip(queries, documents, paths, strict=True)]

    def body(self, scored: Scored, model: str, request_id: str) -> dict[str, Any]:
        """Return the response body."""
        return {
            "id": request_id,
            "object": "list",
            "created": int(time.time()),
            "model": model,
            "data": [{"index": index, "object": "score", "score": score} for index, score in enumerate(scored.scores)],
            "usage": {"prompt_tokens": scored.num_tokens, "total_tokens": scored.num_tokens},
        }
