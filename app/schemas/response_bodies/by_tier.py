"""Descriptions of JSON objects with one field for each registered tier."""

from dataclasses import dataclass
from functools import cache
from typing import Any

from pydantic import GetCoreSchemaHandler
from pydantic_core import CoreSchema
from pydantic_core.core_schema import literal_schema
from typing_extensions import TypedDict, get_type_hints

from cache_tiers.registry import all_tiers
from cache_tiers.tier import TierId


@dataclass(frozen=True, slots=True)
class ByTier:
    """Annotation that describes a mapping by tier id.

    Example: `Annotated[Mapping[TierId, int], ByTier("TierBytes", int, "Bytes of each tier.")]`.

    name: name of the object in the OpenAPI document.
    value: type of each tier's value.
    description: description of the object.
    body: TypedDict of the fields that follow those of the tiers; None if there are no others.
    leaves_out: tiers without a field.
    """

    name: str
    value: Any
    description: str
    body: type[Any] | None = None
    leaves_out: tuple[TierId, ...] = ()

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        """Return the schema of the object, with the tiers that are registered now."""
        tiers = tuple(tier.id for tier in all_tiers() if tier.id not in self.leaves_out)
        return handler.generate_schema(_object(self, tiers))


@cache
def _object(described: ByTier, tiers: tuple[TierId, ...]) -> type[Any]:
    """Make the TypedDict of an object. The same tiers give the same type, so a document names it once."""
    make: Any = TypedDict
    others = get_type_hints(described.body, include_extras=True) if described.body is not None else {}
    made: type[Any] = make(described.name, dict.fromkeys(tiers, described.value) | others)
    made.__doc__ = described.description
    return made


@dataclass(frozen=True, slots=True)
class OneTier:
    """Annotation that describes a string as the id of a registered tier."""

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        """Return the schema of the ids that are registered now."""
        return literal_schema([tier.id for tier in all_tiers()])
