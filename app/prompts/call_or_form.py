"""The form of an answer that may call tools, and has the form that its request demands if it does not."""

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

import regex

from engine.api.errors import InvalidRequestError
from engine.api.structured_output import StructuredOutput
from engine.grammar.embedded import CHECKED_RULE, OPTIONS
from engine.grammar.limits import check_form
from models.chat.call_syntax.fields import may_be_text, properties_of
from models.chat.tool_format import ToolFormat

_COMPACT: Final = {"whitespace_flexible": False, "item_separator": ",", "key_separator": ":"}
"""White space of JSON answers, as in `engine.grammar.automaton`."""
_SPACED: Final = {**_COMPACT, "item_separator": ", ", "key_separator": ": "}
"""White space of calls that are JSON without a mark."""
_TYPES: Final = ("null", "boolean", "number", "integer", "array", "object")
"""Types of values that are not text."""
_LONGEST_SEARCHED: Final = 512
"""Characters of an expression that takes ten milliseconds to compile."""
_SECONDS: Final = 0.01
_IN_LARK: Final = re.compile(r"\\.|/|\n", re.DOTALL)


def call_or_form(
    form: StructuredOutput, functions: Sequence[Mapping[str, Any]], tools: ToolFormat, *, parallel: bool
) -> StructuredOutput | None:
    """Return the form of an answer that calls some of `functions`, or else has `form`.

    The arguments of a call have the names and types of the schema. In the rest of them the model is free, as without a
    form. None if the two forms cannot be joined: the form is a grammar, or an expression that may begin like a call,
    or texts have headers that are no tokens, or there are too many functions.
    """
    # The objects of a call and of the form may begin alike. With the same white space, no mask has to go back.
    ending, before = _ending(form, _SPACED if tools.syntax.marks.bare else _COMPACT), tools.before_text()
    if ending is None or before is None or not _are_apart(form, tools):
        return None
    calls = tools.grammar([shallow(each) for each in functions], parallel=parallel).removeprefix("start: ")
    rules = (f"start: calls | {before} {CHECKED_RULE}", f"calls: {calls}", f"{CHECKED_RULE}: {ending}")
    joined = StructuredOutput("calls", "\n".join(rules))
    try:
        check_form(form)
        check_form(joined)
    except InvalidRequestError:
        # The form at fault is refused by its name in the request.
        return None
    return joined


def _are_apart(form: StructuredOutput, tools: ToolFormat) -> bool:
    """Return whether an answer of the form hides no call. The masks of the library never go back."""
    marks = tools.syntax.marks
    if form.kind != "regex" or tools.syntax.channels is not None:
        return form.kind != "lark"
    # No expression matches a token of a mark.
    return not any(
        _may_begin(form.text, mark[0]) for mark in (*marks.bare, *marks.starts) if mark not in tools.control_ids
    )


def _may_begin(expression: str, character: str) -> bool:
    """Return whether a text that matches the expression may begin with the character, or whether that is uncertain."""
    if len(expression) > _LONGEST_SEARCHED:
        return True
    try:
        return regex.compile(expression).fullmatch(character, partial=True, timeout=_SECONDS) is not None
    except (regex.error, RecursionError, TimeoutError):
        return True


def _ending(form: StructuredOutput, white_space: Mapping[str, Any]) -> str | None:
    """Return the right side of a rule for `form`; None if there is none."""
    if form.kind == "regex":
        escaped = {"/": r"\/", "\n": r"\n"}
        return f"/{_IN_LARK.sub(lambda found: escaped.get(found[0], found[0]), form.text)}/"
    try:
        schema = json.loads(form.text) if form.kind == "json" else None
    except (ValueError, RecursionError):
        return None
    if schema is True:
        schema = {}
    return f"%json {json.dumps({**schema, OPTIONS: white_space})}" if isinstance(schema, dict) else None


def shallow(function: Mapping[str, Any]) -> dict[str, Any]:
    """Return the function with the names and types of its arguments alone."""
    schema = function.get("parameters")
    if not isinstance(schema, Mapping):
        return {"name": function["name"]}
    properties, required = properties_of(schema), schema.get("required")
    return {
        "name": function["name"],
        "parameters": {
            "type": "object",
            "properties": {name: _type_of(field, schema) for name, field in properties.items()},
            "required": [name for name in required if name in properties] if isinstance(required, list) else [],
        },
    }


def _type_of(field: object, schema: object) -> dict[str, Any]:
    named = field.get("type") if isinstance(field, Mapping) else None
    if isinstance(named, str) and named in ("string", *_TYPES):
        return {"type": named}
    return {} if may_be_text(field, schema) else {"type": list(_TYPES)}
