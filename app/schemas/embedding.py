"""Fields that all embedding routes share."""

from collections.abc import Sequence
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
        "number of values of an embedding: all, or a smaller number that the model was trained for"
    )

    def check_dimensions(self, allowed: Sequence[int], found: int) -> int:
        """Return the number of values that the embeddings shall have. Raise InvalidRequestError for another one.

        allowed: numbers to which the model's embeddings may be shortened. found: number of all values.
        """
        wanted = found if self.dimensions is None else self.dimensions
        if wanted != found and not (wanted in allowed and wanted < found):
            sizes = ", ".join(str(each) for each in allowed if each < found)
            may = f"They may be shortened to {sizes}." if sizes else "The model was not trained for other sizes."
            raise InvalidRequestError(
                f"dimensions is {wanted}, but this model's embeddings have {found} values. {may}", param="dimensions"
            )
        return wanted
