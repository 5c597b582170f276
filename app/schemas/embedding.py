"""Fields that all embedding routes share."""

from typing import Annotated

from pydantic import Field

from app.schemas.parsing import CompatibleRequest, optional
from app.schemas.sampling import ModelName, TimeoutSeconds, UrgencyFields
from engine.api.errors import InvalidRequestError


class EmbeddingRequest(UrgencyFields, CompatibleRequest):
    """A request for the embeddings of texts."""

    model: Annotated[ModelName, Field(description="name of the model that is served")]
    timeout: TimeoutSeconds | None = optional("seconds after its arrival at which the request fails with 408")


class SizedEmbeddingRequest(EmbeddingRequest):
    """An EmbeddingRequest that may state the size of an embedding."""

    dimensions: Annotated[int, Field(ge=1, lt=1 << 31)] | None = optional(
        "number of values of an embedding, which must be the model's own"
    )

    def check_dimensions(self, found: int) -> None:
        """Raise InvalidRequestError unless the embeddings, of `found` values, have the size that the client asks for.

        Shortened vectors are meaningful only if the model was trained for them, and no model folder says so.
        """
        if self.dimensions is not None and self.dimensions != found:
            raise InvalidRequestError(
                f"dimensions is {self.dimensions}, but this model's embeddings have {found} values and cannot be "
                "shortened. Leave dimensions out.",
                param="dimensions",
            )
