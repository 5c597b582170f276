"""Parsing of request bodies into validated models. An InvalidRequestError names the field at fault."""

import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any, ClassVar, Final, Literal, TypeVar, get_args, get_origin

from pydantic import (
    BaseModel,
    ConfigDict,
    Discriminator,
    Field,
    GetCoreSchemaHandler,
    GetJsonSchemaHandler,
    ValidationError,
    ValidationInfo,
    model_validator,
)
from pydantic_core import CoreSchema, ErrorDetails, PydanticCustomError, from_json

from app.domain.bounds import MAX_FIELDS
from app.schemas.json_bounds import check_bounds
from engine.api.errors import InvalidRequestError

MAX_NAMED: Final = 16
"""Fields that are named. Clients choose the names and their number."""
MAX_NAME_LENGTH: Final = 64
"""Length in characters to which a name is cut."""


class IgnoredFields:
    """The names of ignored fields, in the order in which validation met them."""

    def __init__(self) -> None:
        """Create an empty collection."""
        self._names: dict[str, None] = {}
        self._is_cut = False

    def add(self, name: str) -> None:
        """Note a field. A field of an object within the body is named after the object's schema."""
        printable = _printable(name[:MAX_NAME_LENGTH])
        if printable in self._names or len(self._names) < MAX_NAMED:
            self._names[printable] = None
        else:
            self._is_cut = True

    def __bool__(self) -> bool:
        """Return whether a field was ignored."""
        return bool(self._names)

    def __str__(self) -> str:
        """List the names for a header or a log line."""
        return ", ".join([*self._names, *(["..."] if self._is_cut else [])])


def _printable(name: str) -> str:
    """Replace characters that a header may not have, and the comma between names."""
    return "".join(char if "!" <= char <= "~" and char != "," else "?" for char in name)


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
    """A JSON object. Types are strict: "1" is not a number and true is not an integer.

    An unknown field is refused, unless `parse_body` collects unknown fields.

    examples: valid bodies, for the OpenAPI document.
    ignored: known fields that clients send and that have no effect.
    neutral: unsupported fields, each with the values that are accepted because they request nothing. Null is always
        accepted.
    """

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)

    examples: ClassVar[tuple[dict[str, Any], ...]] = ()
    ignored: ClassVar[frozenset[str]] = frozenset()
    neutral: ClassVar[Mapping[str, tuple[Any, ...]]] = {}
    _names: ClassVar[frozenset[str]] = frozenset()
    """Names of the model's fields in JSON."""

    @classmethod
    def __pydantic_init_subclass__(cls, **_: Any) -> None:
        """Note the names of the fields."""
        cls._names = frozenset(field.alias or name for name, field in cls.model_fields.items())

    @model_validator(mode="before")
    @classmethod
    def _supported(cls, value: Any, info: ValidationInfo) -> Any:
        """Remove the fields without effect from an object. info.context: where unknown fields are collected, if at all.

        Raises:
            PydanticCustomError: there are far too many fields, or one asks for something that is not supported.
        """
        if not isinstance(value, dict) or value.keys() <= cls._names:
            return value
        if len(value) > MAX_FIELDS:
            raise PydanticCustomError("too_many_fields", "{number} fields", {"number": len(value)})
        unknown = info.context
        kept = {}
        for name, field in value.items():
            if name in cls.neutral:
                cls._check_neutral(name, field)
            elif name in cls.ignored:
                continue
            elif isinstance(unknown, IgnoredFields) and name not in cls._names:
                unknown.add(cls._path_of(name))
            else:
                kept[name] = field
        return kept

    @classmethod
    def _check_neutral(cls, name: str, value: object) -> None:
        accepted = (None, *cls.neutral[name])
        if not any(value is each or (value == each and type(value) is type(each)) for each in accepted):
            values = " or ".join(["leave it out", *(f"send {json.dumps(each)}" for each in cls.neutral[name])])
            reason = f"is not supported: {values}"
            raise PydanticCustomError("unsupported", "{reason}", {"name": name, "reason": reason})

    @classmethod
    def _path_of(cls, unknown: str) -> str:
        return f"{cls.__name__}.{unknown}"

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        """Make lists stop at their first fault, since only one fault is reported."""
        schema = handler(source)
        _stop_at_first_fault(schema)
        return schema

    @classmethod
    def __get_pydantic_json_schema__(cls, core_schema: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        """Add the examples, and the fields that pydantic never sees, because `_supported` removes them beforehand."""
        schema = handler.resolve_ref_schema(handler(core_schema))
        if cls.examples:
            schema["examples"] = list(cls.examples)
        fields = schema.setdefault("properties", {})
        fields |= {name: {"description": "No effect."} for name in sorted(cls.ignored)}
        fields |= {name: {"enum": [None, *values]} for name, values in cls.neutral.items()}
        return schema


class CompatibleRequest(RequestModel):
    """The body of a route of another server's API.

    Clients of these APIs send fields that only some servers know, and expect the others to ignore them.
    """

    @classmethod
    def _path_of(cls, unknown: str) -> str:
        return unknown


UNKNOWN_TYPE: Final = "unknown_type"
"""Kind of the error for an object of a type that no model of a union has."""
OTHER_KIND: Final = "other_kind"
"""Kind of the error for a value that no member of a union takes, such as a number in the place of a text."""
LONGEST_NAME: Final = 200
"""Maximum length of a field's path in an error, in characters. The path of a client's field may be megabytes long."""


def optional(description: str) -> Any:
    """Declare a field that may be left out or null. description: the effect, for the tables of docs/reference/api."""
    return Field(default=None, description=description)


Model = TypeVar("Model", bound=RequestModel)


def parse_body(model: type[Model], body: bytes, unknown: IgnoredFields | None = None) -> Model:
    """Parse `body` as `model`. An empty body counts as {}.

    unknown: collects the names of unknown fields, which then have no effect. None refuses unknown fields.

    Raises:
        InvalidRequestError: the body is not a JSON object, is nested too deep or has too many values, or a field is
            wrong. `param` is the path of the field.
    """
    return parse_object(model, _json_object(body), unknown=unknown)


def parse_object(
    model: type[Model],
    fields: Mapping[str, Any],
    at: tuple[int | str, ...] = (),
    unknown: IgnoredFields | None = None,
) -> Model:
    """Validate `fields` against `model`. at: path of `fields` within the body. Raise as `parse_body`."""
    try:
        return model.model_validate(fields, context=unknown)
    except ValidationError as exc:
        error = exc.errors(include_url=False, include_input=False)[0]
        raise _as_invalid_request({**error, "loc": (*at, *error["loc"])}) from None


def by_kind(kind: Callable[[object], str | None], allowed: str) -> Discriminator:
    """Build the discriminator of a union by the kind of a value. The error for a value of no member says `allowed`.

    kind: returns the tag of a value's member; None if the value is of no member.
    """
    return Discriminator(kind, custom_error_type=OTHER_KIND, custom_error_message=f"Input should be {allowed}")


def by_tag(kind: Callable[[object], str | None], types: Iterable[str]) -> Discriminator:
    """Build the discriminator of a union by an object's `type`. The error for another type lists `types`.

    kind: as in `by_kind`. A value that is no object has the tag of the member whose error it gets.
    """
    message = f"must be one of {', '.join(types)}"
    return Discriminator(kind, custom_error_type=UNKNOWN_TYPE, custom_error_message=message)


def _text_or_list(value: object) -> str | None:
    return "<list>" if isinstance(value, list) else "<text>" if isinstance(value, str) else None


TEXT_OR_LIST: Final = by_kind(_text_or_list, "a text or a list")
"""Discriminator of content that is a text or a list of parts."""


def by_type(
    default: type[RequestModel],
    others: Mapping[str, type[RequestModel]],
    otherwise: Callable[[str], type[RequestModel] | None] = lambda _: None,
) -> Discriminator:
    """Build the discriminator of a union of `default`, `others` and perhaps more models, by an object's `type`.

    An object without a type is a `default`. A value's tag is its class name between "<" and ">". The error for a type
    that no model has lists those that there are.

    others: models by the types that they have.
    otherwise: returns the model of any other type.
    """
    models = {**dict.fromkeys(_types_of(default), default), **others}

    def tag(value: object) -> str | None:
        if isinstance(value, RequestModel):
            return f"<{type(value).__name__}>"
        kind = value.get("type") if isinstance(value, dict) else None
        model = (models.get(kind) or otherwise(kind)) if isinstance(kind, str) else default
        return None if model is None else f"<{model.__name__}>"

    return by_tag(tag, models)


def _types_of(model: type[RequestModel]) -> list[str]:
    """Return the values that the field `type` of `model` may have, except None."""
    named = model.model_fields["type"].annotation
    return [value for part in (named, *get_args(named)) if get_origin(part) is Literal for value in get_args(part)]


def _json_object(body: bytes) -> dict[str, Any]:
    check_bounds(body)
    try:
        # By default, the parser keeps 16,384 short texts of earlier bodies for good.
        value = from_json(body, allow_inf_nan=False, cache_strings="keys") if body.strip() else {}
    except ValueError as exc:
        raise InvalidRequestError(f"The body is not valid JSON: {exc}", code="invalid_json") from None
    if not isinstance(value, dict):
        raise InvalidRequestError("The body must be a JSON object", code="invalid_json")
    return value


def _as_invalid_request(error: ErrorDetails) -> InvalidRequestError:
    context = error.get("ctx", {})
    names_field = error["type"] in ("unsupported", "refused", UNKNOWN_TYPE)
    path = field_path((*error["loc"], context.get("name", "type")) if names_field else error["loc"])
    if len(path) > LONGEST_NAME:
        path = f"{path[:LONGEST_NAME]}..."
    match error["type"]:
        case "unsupported":
            return InvalidRequestError(f"{path} {error['msg']}", param=path, code="unsupported")
        case "refused":
            return InvalidRequestError(f"{path}: {error['msg']}", param=path, code="unsupported")
        case "too_many_fields":
            message = f"{path or 'The body'} has {context['number']} fields; at most {MAX_FIELDS} are allowed"
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
