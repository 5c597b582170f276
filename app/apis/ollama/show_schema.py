"""POST /api/show."""

from typing import Annotated, ClassVar

from pydantic import Field

from app.schemas.examples import MODEL
from app.schemas.parsing import CompatibleRequest
from engine.api.errors import InvalidRequestError

GivenName = Annotated[str, Field(max_length=1024)]
"""A name that may be empty, which counts as none: Ollama's own client sends both fields."""


class OllamaShowRequest(CompatibleRequest):
    """A model, under the name of the field that clients send today or under its older name."""

    examples = ({"model": MODEL}, {"name": MODEL})

    ignored: ClassVar[frozenset[str]] = frozenset({"options", "system", "template", "verbose"})

    model: GivenName | None = None
    name: GivenName | None = None

    @property
    def wanted(self) -> str:
        """The name of the model. Raise InvalidRequestError if there is none."""
        name = self.model or self.name
        if not name:
            raise InvalidRequestError("model is required", param="model")
        return name
