"""Description of a field whose JSON was made elsewhere."""

from dataclasses import dataclass
from typing import Any

from pydantic import GetCoreSchemaHandler
from pydantic_core import CoreSchema


@dataclass(frozen=True, slots=True)
class DescribedAs:
    """Annotation that describes a field by another type: `Annotated[Mapping[str, Any], DescribedAs(Usage)]`.

    For stored JSON, which mypy knows as a mapping only, and for mappings whose keys are all known.
    """

    type: Any

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        """Return the schema of the type that describes the field."""
        return handler.generate_schema(self.type)
