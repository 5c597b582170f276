"""Parsing of request bodies into validated models. An InvalidRequestError names the field at fault."""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, ClassVar, Final, TypeVar

from pydantic import BaseModel, ConfigDict, Field, GetCoreSchemaHandler, GetJsonSchemaHandler, ValidationError
from pydantic_core import CoreSchema, ErrorDetails, from_json

from app.domain.bounds import MAX_FIELDS, MAX_MESSAGES
from app.schemas.json_bounds import check_bounds
from engine.errors import InvalidRequestError


def _stop_at_first_fault(schema: Any) -> None:
    """Set `fail_fast` on every list in `schema`, a core schema of pydantic or a part of one."""
    if isinstance(schema, dict):
        if schema.get("type") == "list":
            schema["fail_fast"] = True
        for piece in schema.values():
            _stop_at_first_fault(piece)
    elif isinstance(schema, list | tuple):
        for piece in schema:
            _stop_at_first_fault(piece)


class RequestModel(BaseModel):
    """A JSON object whose fields are all known. Types are strict: "1" is not a number and true is not an integer.

    ignored: fields that clients send and that have no effect.
    neutral: unsupported fields, each with the values that are accepted because they request nothing. Null is always
        accepted.
    """

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)

    ignored: ClassVar[frozenset[str]] = frozenset()
    neutral: ClassVar[Mapping[str, tuple[Any, ...]]] = {}

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        """Make lists stop at their first fault, since only one fault is reported."""
        schema = handler(source)
        _stop_at_first_fault(schema)
        return schema

    @classmethod
    def __get_pydantic_json_schema__(cls, core_schema: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        """Add the fields that pydantic never sees, because `supported_fields` removes them beforehand."""
        schema = handler.resolve_ref_schema(handler(core_schema))
        fields = schema.setdefault("properties", {})
        fields |= {name: {"description": "No effect."} for name in sorted(cls.ignored)}
        fields |= {name: {"enum": [None, *values]} for name, values in cls.neutral.items()}
        return schema


LONGEST_NAME: Final = 200
"""Maximum length of a field's path in an error, in characters. The path of a client's field may be megabytes long."""


def optional(description: str) -> Any:
    """Declare a field that may be left out or null. description: its effect in Ebb, for the tables of docs/api.md."""
    return Field(default=None, description=description)


Model = TypeVar("Model", bound=RequestModel)

NO_OTHERS: Final[Mapping[str, type[RequestModel]]] = MappingProxyType({})


def parse_body(model: type[Model], body: bytes) -> Model:
    """Parse `body` as `model`. An empty body counts as {}.

    Raises:
        InvalidRequestError: the body is not a JSON object, is nested too deep or has too many values, or a field is
            wrong. `param` is the path of the field.
    """
    return parse_object(model, _json_object(body))


def parse_object(model: type[Model], fields: Mapping[str, Any], at: tuple[int | str, ...] = ()) -> Model:
    """Validate `fields` against `model`. at: path of `fields` within the body. Raises as `parse_body`."""
    try:
        return model.model_validate(supported_fields(model, fields, f"{field_path(at)}." if at else ""))
    except ValidationError as exc:
        error = exc.errors(include_url=False, include_input=False)[0]
        raise _as_invalid_request({**error, "loc": (*at, *error["loc"])}) from None


def supported_fields(model: type[RequestModel], fields: Mapping[str, Any], path: str) -> dict[str, Any]:
    """Return `fields` without those that `model` ignores. path: prefix of field names in errors.

    Raises:
        InvalidRequestError: a field asks for something that is not supported yet, or there are far too many fields.
    """
    if len(fields) > MAX_FIELDS:
        where = path.removesuffix(".") or "The body"
        raise InvalidRequestError(f"{where} has {len(fields)} fields; at most {MAX_FIELDS} are allowed")
    kept = {}
    for name, value in fields.items():
        if name in model.ignored:
            continue
        if name not in model.neutral:
            kept[name] = value
        elif not any(value is harmless or (value == harmless and type(value) is type(harmless))
                     for harmless in (None, *model.neutral[name])):  # fmt: skip
            raise InvalidRequestError(f"{path}{name} is not supported yet", param=f"{path}{name}", code="unsupported")
    return kept


def supported_items(
    model: type[RequestModel], value: object, path: str, others: Mapping[str, type[RequestModel]] = NO_OTHERS
) -> object:
    """Return `value`, a list of objects at `path`, with the ignored fields of each object removed.

    An object is read as `model`, or as the model that `others` has for the object's `type`. Values of any other shape
    are left for pydantic to reject. Raises as `supported_fields`.
    """
    if not isinstance(value, list):
        return value
    if len(value) > MAX_MESSAGES:
        raise InvalidRequestError(f"{path}: List should have at most {MAX_MESSAGES} items", param=path)
    return [
        supported_fields(others.get(str(item.get("type")), model), item, f"{path}[{index}].")
        if isinstance(item, dict)
        else item
        for index, item in enumerate(value)
    ]


def text_or_list(value: object) -> str:
    """Return the union tag of content that is a text or a list of parts."""
    return "<list>" if isinstance(value, list) else "<text>"


def kind_by_type(default: type[RequestModel], others: Mapping[str, type[RequestModel]]) -> Callable[[object], str]:
    """Build the discriminator of a union of `default` and `others`, which are keyed by an object's `type`.

    A value's tag is its class name between "<" and ">".
    """

    def tag(value: object) -> str:
        kind = others.get(str(value.get("type")), default) if isinstance(value, dict) else type(value)
        return f"<{kind.__name__}>"

    return tag


def _json_object(body: bytes) -> dict[str, Any]:
    check_bounds(body)
    try:
        value = from_json(body, allow_inf_nan=False) if body.strip() else {}
    except ValueError as exc:
        raise InvalidRequestError(f"The body is not valid JSON: {exc}", code="invalid_json") from None
    if not isinstance(value, dict):
        raise InvalidRequestError("The body must be a JSON object", code="invalid_json")
    return value


def _as_invalid_request(error: ErrorDetails) -> InvalidRequestError:
    path = field_path(error["loc"])
    if len(path) > LONGEST_NAME:
        path = f"{path[:LONGEST_NAME]}..."
    match error["type"]:
        case "extra_forbidden":
            message = f"Unknown field {path}"
        case "missing":
            message = f"{path} is required"
        case "model_type":
            message = f"{path}: Input should be a JSON object"
        case _:
            message = f"{path}: {error['msg']}"
    return InvalidRequestError(message, param=path or None)


def field_path(location: tuple[int | str, ...]) -> str:
    """Format a pydantic error location: ("messages", 0, "role") -> "messages[0].role".

    Tags of unions, written "<tag>", and the "[key]" after the name of an invalid key are not part of the path.
    """
    path = ""
    for part in location:
        if isinstance(part, int):
            path += f"[{part}]"
        elif not part.startswith("<") and part != "[key]":
            path += f".{part}" if path else part
    return path
