"""Secrets in request bodies: texts that no log line, trace or message shows."""

from dataclasses import dataclass
from typing import Any

from pydantic import GetCoreSchemaHandler, SecretStr
from pydantic_core import CoreSchema, core_schema


@dataclass(frozen=True, slots=True)
class SecretText:
    """Schema of a SecretStr: a text of at most `most` characters. The errors are those of any other text."""

    most: int

    def __get_pydantic_core_schema__(self, _source: Any, _handler: GetCoreSchemaHandler) -> CoreSchema:
        """Describe the type for pydantic."""
        text = core_schema.str_schema(max_length=self.most, strict=True)
        return core_schema.no_info_after_validator_function(SecretStr, text)
