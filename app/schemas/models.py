"""POST /models/load and /models/unload."""

from typing import Annotated

from pydantic import Field

from app.schemas.examples import MODEL
from app.schemas.parsing import RequestModel
from app.schemas.sampling import ModelName


class ModelChoice(RequestModel):
    """A request that names a model."""

    examples = ({"model": MODEL},)

    model: Annotated[ModelName, Field(description="name of one of several models")]
