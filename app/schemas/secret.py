"""Secrets in request bodies: texts that no log line, trace or message shows."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Annotated, Any, get_args, get_origin

from pydantic import GetCoreSchemaHandler, SecretStr
from pydantic_core import CoreSchema, core_schema

from app.schemas.parsing import RequestModel


@dataclass(frozen=True, slots=True)
class SecretText:
    """Schema of a SecretStr: a text of at most `most` characters. The errors are those of any other text."""

    most: int

    def __get_pydantic_core_schema__(self, _source: Any, _handler: GetCoreSchemaHandler) -> CoreSchema:
        """Describe the type for pydantic."""
        text = core_schema.str_schema(max_length=self.most, strict=True)
        return core_schema.no_info_after_validator_function(SecretStr, text)


@cache
def has_secret(model: type[RequestModel]) -> bool:
    """Return whether a body of this type, or any part of one, has a secret."""
    models, seen = [model], {model}
    while models:
        for field in models.pop().model_fields.values():
            for kind in types_in(field.annotation):
                if kind is SecretStr:
                    return True
                if isinstance(kind, type) and issubclass(kind, RequestModel) and kind not in seen:
                    seen.add(kind)
                    models.append(kind)
    return False


def types_in(annotation: Any) -> Iterator[Any]:
    """Yield the types in an annotation, such as A and B in list[A | Annotated[B, ...]]."""
    yield annotation
    for part in get_args(annotation)[: 1 if get_origin(annotation) is Annotated else None]:
        yield from types_in(part)
