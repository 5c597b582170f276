"""Structured outputs: the fields in which clients of OpenAI and of vLLM state the form that an answer must have."""

import json
import re
from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal

from pydantic import AfterValidator, Field, Tag

from app.schemas.parsing import RequestModel, by_kind, by_tag, optional
from app.schemas.unenforced import note_unenforced
from engine.api.errors import InvalidRequestError
from engine.api.structured_output import StructuredOutput

MAX_CHOICES = 1000
MAX_FORM_CHARACTERS = 1 << 16

JsonSchema = Annotated[dict[str, Any] | bool, AfterValidator(note_unenforced)]
FormText = Annotated[str, Field(min_length=1, max_length=MAX_FORM_CHARACTERS)]


def _schema_kind(value: object) -> str | None:
    return next((tag for kind, tag in SCHEMA_KINDS.items() if isinstance(value, kind)), None)


SCHEMA_KINDS: Mapping[type, str] = {dict: "<object>", bool: "<switch>", str: "<text>"}
SchemaOrText = Annotated[
    Annotated[dict[str, Any], Tag("<object>")] | Annotated[bool, Tag("<switch>")] | Annotated[FormText, Tag("<text>")],
    by_kind(_schema_kind, "a JSON Schema: an object or a text"),
    AfterValidator(note_unenforced),
]
Choices = Annotated[
    list[Annotated[str, Field(min_length=1, max_length=MAX_FORM_CHARACTERS)]],
    Field(min_length=1, max_length=MAX_CHOICES),
]

ANY_OBJECT = StructuredOutput("json", '{"type":"object"}')


class NamedSchema(RequestModel):
    """OpenAI's wrapper of a JSON Schema. Answers always conform to the schema, whether or not `strict` is set."""

    name: Annotated[str, Field(min_length=1, max_length=64)]
    description: str | None = None
    schema_: JsonSchema = Field(alias="schema")
    strict: bool | None = None


class TextFormat(RequestModel):
    """Answer format that allows any text."""

    type: Literal["text"]


class ObjectFormat(RequestModel):
    """Any JSON object, or one that conforms to a schema, as llama.cpp and Together have it."""

    type: Literal["json_object"]
    schema_: JsonSchema | None = Field(default=None, alias="schema")

    @property
    def form(self) -> StructuredOutput:
        """The form of the answer."""
        return ANY_OBJECT if self.schema_ is None else of_schema(self.schema_)


class SchemaFormat(RequestModel):
    """JSON that conforms to a schema."""

    type: Literal["json_schema"]
    json_schema: NamedSchema


FORMATS: Mapping[str, str] = {"text": "<text>", "json_object": "<object>", "json_schema": "<schema>"}
"""Types of OpenAI's formats, with their tags in a union."""


def _format_kind(value: object) -> str | None:
    if isinstance(value, dict):
        return FORMATS.get(str(value.get("type")))
    return FORMATS.get(getattr(value, "type", ""), "<schema>")


BY_FORMAT = by_tag(_format_kind, FORMATS)
"""Discriminator of OpenAI's formats."""

ResponseFormat = Annotated[
    Annotated[TextFormat, Tag("<text>")]
    | Annotated[ObjectFormat, Tag("<object>")]
    | Annotated[SchemaFormat, Tag("<schema>")],
    BY_FORMAT,
]


class StructuredOutputs(RequestModel):
    """vLLM's field. One of the first five fields states the form.

    White space is always compact, whatever `disable_any_whitespace` says.
    """

    neutral: ClassVar[Mapping[str, tuple[Any, ...]]] = {"structural_tag": (), "whitespace_pattern": ()}

    json_: Annotated[SchemaOrText | None, Field(alias="json")] = None
    regex: FormText | None = None
    choice: Choices | None = None
    grammar: FormText | None = None
    json_object: bool | None = None
    disable_any_whitespace: bool | None = None
    disable_fallback: bool | None = None


class FormFields(RequestModel):
    """The fields of a request that can state the answer's form. At most one of them may be used."""

    response_format: ResponseFormat | None = optional(
        "`json_object`, with or without a `schema`, or `json_schema` with its `schema`; `text` allows any answer"
    )
    structured_outputs: StructuredOutputs | None = optional(
        "required form of the answer: `json`, `regex`, `choice`, `grammar` or `json_object`, as in vLLM"
    )
    guided_json: SchemaOrText | None = optional("older name of `structured_outputs.json`")
    guided_regex: FormText | None = optional("older name of `structured_outputs.regex`")
    guided_choice: Choices | None = optional("older name of `structured_outputs.choice`")
    guided_grammar: FormText | None = optional("older name of `structured_outputs.grammar`")

    def answer_form(self) -> tuple[StructuredOutput, str] | None:
        """Return the answer's form and the client's name of the field that states it. None if any text is allowed.

        Raises:
            InvalidRequestError: two fields state a form.
        """
        given = [*self._openai_forms(), *self._vllm_forms()]
        if len(given) > 1:
            param = given[1][1]
            raise InvalidRequestError(f"{param}: {given[0][1]} already sets the form of the answer", param=param)
        return given[0] if given else None

    def _openai_forms(self) -> list[tuple[StructuredOutput, str]]:
        match self.response_format:
            case ObjectFormat(schema_=None):
                return [(ANY_OBJECT, "response_format")]
            case ObjectFormat(form=form):
                return [(form, "response_format.schema")]
            case SchemaFormat(json_schema=named):
                return [(of_schema(named.schema_), "response_format.json_schema.schema")]
        return []

    def _vllm_forms(self) -> list[tuple[StructuredOutput, str]]:
        newer = self.structured_outputs or StructuredOutputs()
        forms = [
            (of_schema(schema), name)
            for schema, name in ((newer.json_, "structured_outputs.json"), (self.guided_json, "guided_json"))
            if schema is not None
        ]
        for (regex, choice, grammar), prefix in (
            ((newer.regex, newer.choice, newer.grammar), "structured_outputs."),
            ((self.guided_regex, self.guided_choice, self.guided_grammar), "guided_"),
        ):
            forms += [(StructuredOutput("regex", regex), f"{prefix}regex")] if regex is not None else []
            forms += [(_of_choice(choice), f"{prefix}choice")] if choice is not None else []
            forms += [(StructuredOutput("lark", grammar), f"{prefix}grammar")] if grammar is not None else []
        return [*forms, *([(ANY_OBJECT, "structured_outputs.json_object")] if newer.json_object else [])]


def of_schema(schema: dict[str, Any] | bool | str) -> StructuredOutput:
    """Build the form of JSON that conforms to `schema`, which may be given as text."""
    return StructuredOutput("json", schema if isinstance(schema, str) else _written(schema))


def _written(schema: dict[str, Any] | bool) -> str:
    return json.dumps(schema, ensure_ascii=False, separators=(",", ":"))


def _of_choice(choices: list[str]) -> StructuredOutput:
    return StructuredOutput(
        "regex", "|".join(re.sub(r"[\\.+*?()|\[\]{}^$#&~-]", r"\\\g<0>", choice) for choice in choices)
    )
