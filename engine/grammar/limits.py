"""Limits on forms, checked before compilation, because the library's own limits do not bound the time of every form.

All checks are linear in the size of the form.
"""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from engine.api.errors import InvalidRequestError
from engine.api.structured_output import FormKind, StructuredOutput
from engine.grammar.call_rules import tool_at
from engine.grammar.embedded import EmbeddedSchema, embedded
from engine.grammar.enforceable import enforceable, subschemas

MAX_BYTES: Mapping[FormKind, int] = {"json": 32 << 10, "regex": 8 << 10, "lark": 16 << 10, "calls": 64 << 10}
MAX_ALTERNATIVES = 64
"""Maximum number of alternatives of a Lark grammar, over all rules. Ambiguity costs their square for each token."""

MAX_DEPTH = 32
MAX_BRANCHES = 256
"""Maximum number of properties and branches of a schema together. Each of them is a rule."""

MAX_ENUM = 1000
MAX_COUNT = 100_000
"""Maximum of minItems, maxLength and similar keywords, which are counted rather than expanded."""

MAX_WRITTEN_OUT = 4000
"""Maximum number of atoms of a regular expression after its counted repetitions are expanded."""

MAX_MULTIPLE = 1000
"""Maximum of multipleOf without its decimal point: the automaton has a state for each remainder."""

MAX_MEETING = 8
"""Maximum number of patterns in a schema in which one string may have to match several.

The library searches for their intersection, which takes exponentially longer with each pattern.
"""

COUNTS = ("minItems", "maxItems", "minLength", "maxLength", "minProperties", "maxProperties")
BRANCHES = ("anyOf", "oneOf", "allOf", "prefixItems")

MEETING = ("$ref", *BRANCHES)
"""Keywords that can bring a second pattern for the same string when they stand next to a pattern."""

_COUNTED = re.compile(r"\{(\d+)(,?)(\d*)\}")
_TERMINAL = re.compile(r"^[ \t]*(_?[A-Z][A-Z0-9_]*)(?:\.\d+)?[ \t]*:(.*(?:\n[ \t]*\|.*)*)", re.MULTILINE)
_NAME = re.compile(r"_?[A-Z][A-Z0-9_]*")


def check_form(form: StructuredOutput) -> None:
    """Raise InvalidRequestError for "form" if the form is invalid or beyond a limit."""
    if len(form.text.encode()) > MAX_BYTES[form.kind]:
        raise _refused(f"the form has more than {MAX_BYTES[form.kind] >> 10} KiB")
    if not form.text:
        raise _refused("the form is empty")
    match form.kind:
        case "json":
            _check_rewritten(_parsed(form.text))
        case "regex":
            _check_written_out(form.text)
        case "calls":
            _check_calls(form.text)
        case "lark":
            rules = _check_embedded(form.text)
            if any(directive in rules for directive in ("%regex", "%llguidance")):
                raise _refused("%regex and %llguidance are not supported")
            if rules.count("|") > MAX_ALTERNATIVES:
                raise _refused(f"the grammar has more than {MAX_ALTERNATIVES} alternatives")
            _check_written_out(rules)
            _check_terminals(rules)


def _check_calls(grammar: str) -> None:
    """Check the schemas of tools in a grammar that the server wrote."""
    for piece in embedded(grammar):
        if isinstance(piece, EmbeddedSchema):
            try:
                _check_rewritten(piece.schema)
            except InvalidRequestError as error:
                tool = tool_at(grammar, piece.line)
                raise error if tool is None else _refused(f"the arguments of {tool}: {error.message}") from None


def _check_embedded(grammar: str) -> str:
    """Check the schemas embedded in a client's grammar. Return the grammar without them."""
    rules = list[str]()
    for piece in embedded(grammar):
        if isinstance(piece, str):
            rules.append(piece)
            continue
        if left_out := _check_rewritten(piece.schema):
            raise _refused(f"{left_out[0]} in a schema of the grammar cannot be enforced")
    return "".join(rules)


def _check_rewritten(schema: object) -> tuple[str, ...]:
    """Check a schema as it is enforced. Return the keywords that are not."""
    _check_levels(schema)
    rewritten = enforceable(schema)
    _check_schema(rewritten.schema)
    return rewritten.left_out


def _refused(why: str) -> InvalidRequestError:
    return InvalidRequestError(why, param="form")


def _parsed(text: str) -> object:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        raise _refused("the schema is not JSON, or is nested too deeply") from None


def _check_schema(schema: object) -> None:
    branches = patterns = 0
    may_meet = False
    for node in _schemas(schema):
        branches += len(node["properties"]) if isinstance(node.get("properties"), dict) else 0
        branches += sum(len(node[name]) for name in BRANCHES if isinstance(node.get(name), list))
        if branches > MAX_BRANCHES:
            raise _refused(f"the schema has more than {MAX_BRANCHES} properties and branches")
        _check_node(node)
        has_pattern = isinstance(node.get("pattern"), str)
        patterns += has_pattern
        may_meet |= has_pattern and any(name in node for name in MEETING)
        may_meet |= isinstance(node.get("allOf"), list) and len(node["allOf"]) > 1
    if may_meet and patterns > MAX_MEETING:
        raise _refused(f"the schema has more than {MAX_MEETING} patterns, some of which apply to the same string")


def _check_node(node: dict[str, Any]) -> None:
    if isinstance(node.get("enum"), list) and len(node["enum"]) > MAX_ENUM:
        raise _refused(f"an enum of the schema has more than {MAX_ENUM} values")
    for name in COUNTS:
        if isinstance(count := node.get(name), int | float) and count > MAX_COUNT:
            raise _refused(f"{name} in the schema is above {MAX_COUNT}")
    if isinstance(multiple := node.get("multipleOf"), int | float) and _without_point(multiple) > MAX_MULTIPLE:
        raise _refused(
            f"multipleOf in the schema is {multiple}; without its decimal point, it must be at most {MAX_MULTIPLE}"
        )
    if isinstance(pattern := node.get("pattern"), str):
        _check_written_out(pattern)
    if isinstance(patterns := node.get("patternProperties"), dict):
        for pattern in patterns:
            _check_written_out(str(pattern))


def _check_levels(schema: object) -> None:
    todo = [(schema, 0)]
    while todo:
        node, level = todo.pop()
        if level > 2 * MAX_DEPTH:
            raise _refused(f"the schema is nested more than {MAX_DEPTH} levels deep")
        if isinstance(node, dict | list):
            todo += [(below, level + 1) for below in (node.values() if isinstance(node, dict) else node)]


def _schemas(schema: object) -> Iterator[dict[str, Any]]:
    """Yield the schema and those within it. Values, such as those of `enum`, are none."""
    todo = [schema]
    while todo:
        node = todo.pop()
        if isinstance(node, dict):
            yield node
            todo += subschemas(node)


def _without_point(number: float) -> float:
    """Remove the decimal point of a number: 0.25 -> 25."""
    digits = f"{number:.15f}".rstrip("0").rstrip(".") if isinstance(number, float) else str(number)
    return float(digits.replace(".", ""))


def _check_written_out(text: str) -> None:
    """Check the size of a pattern after expansion.

    The size is a rough upper bound: characters inside brackets and quotes count too.
    """
    sizes = [0]
    last, index = 0, 0
    while index < len(text):
        if counted := _COUNTED.match(text, index):
            low, comma, high = counted.groups()
            # Nine digits are beyond the limit anyway, so further digits need not be parsed.
            times = int((high if comma and high else low)[:9])
            sizes[-1] += last * max(times - 1, 0)
            index = counted.end()
        elif text[index] == "(":
            sizes.append(0)
            if len(sizes) > MAX_DEPTH + 1:
                raise _refused(f"the form is nested more than {MAX_DEPTH} levels deep")
            last, index = 0, index + 1
        elif text[index] == ")" and len(sizes) > 1:
            last = sizes.pop()
            sizes[-1] += last
            index += 1
        else:
            last, index = 1, index + 2 if text[index] == "\\" else index + 1
            sizes[-1] += 1
        if sizes[-1] > MAX_WRITTEN_OUT * 8 or (last > MAX_WRITTEN_OUT and len(sizes) == 1):
            break
    if sum(sizes) > max(MAX_WRITTEN_OUT, len(text)):
        raise _refused(f"the repetitions, written out, have more than {MAX_WRITTEN_OUT} parts")


def _check_terminals(rules: str) -> None:
    """Check the size of terminals, each of which is expanded together with the terminals that it names."""
    texts = {found[1]: found[2] for found in _TERMINAL.finditer(rules)}
    sizes: dict[str, float] = {}

    def size(name: str, depth: int) -> float:
        if depth > MAX_DEPTH:
            raise _refused(f"the terminals refer to each other more than {MAX_DEPTH} levels deep")
        if name not in sizes:
            named = (each for each in _NAME.findall(texts[name]) if each in texts)
            sizes[name] = _times(texts[name]) * (1 + sum(size(each, depth + 1) for each in named))
        return sizes[name]

    if any(size(name, 0) > MAX_WRITTEN_OUT for name in texts):
        raise _refused(f"the terminals, written out, have more than {MAX_WRITTEN_OUT} parts")


def _times(text: str) -> float:
    """Return an upper bound on how often a terminal repeats the ones it names: repeated groups may be nested."""
    single, groups = 0.0, 1.0
    for counted in _COUNTED.finditer(text):
        count = float((counted[3] if counted[2] and counted[3] else counted[1])[:9])
        if text[counted.start() - 1] == ")":
            groups = min(groups * max(count, 1), 1e9)
        else:
            single += count
    return max(single, 1) * groups
