"""Keywords of a client's JSON Schema that no mask enforces. The response names them, as it names ignored fields."""

import json
from typing import Any, TypeVar

from pydantic import ValidationInfo
from pydantic_core import PydanticCustomError

from app.schemas.parsing import IgnoredFields
from engine.grammar.enforceable import enforceable

Schema = TypeVar("Schema", bound=dict[str, Any] | bool | str | None)


def note_unenforced(schema: Schema, info: ValidationInfo) -> Schema:
    """Note the keywords of `schema`, which may be given as text, among the ignored fields. For AfterValidator.

    info.context: the ignored fields; None if they are refused.

    Raises:
        PydanticCustomError: ignored fields are refused, and a keyword is not enforced.
    """
    for keyword in enforceable(_parsed(schema)).left_out:
        if not isinstance(info.context, IgnoredFields):
            raise PydanticCustomError("unenforced", "{keyword} is not enforced", {"keyword": keyword})
        info.context.add(f"schema.{keyword}")
    return schema


def _parsed(schema: object) -> object:
    try:
        return json.loads(schema) if isinstance(schema, str) else schema
    except (ValueError, RecursionError):
        # The form is refused when it is compiled.
        return None
