"""JSON Schemas in the words that the grammar library enforces.

The library refuses a schema with a keyword that it does not know. Here such a keyword is rewritten into known ones, or
left out and named, so that the rest of the schema is enforced. Annotations are left out without a word.

Every value of the rewritten schema is one of the schema, apart from the keywords that are named.
"""

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from engine.grammar.exclusive import are_exclusive
from engine.grammar.patterns import is_regular
from engine.grammar.references import resolved

MOST_PARTS: Final = 32 << 10
"""Fields and list items that are rewritten. A schema within the limit of bytes has fewer."""
MOST_LEVELS: Final = 64
"""Levels that are rewritten. A deeper schema is refused later."""
MOST_INTEGER: Final = math.nextafter(2.0**63, 0)
"""Largest bound of integers that the library writes as a pattern."""
MOST_NUMBER: Final = math.nextafter(1e18, 0)
"""The same for other numbers, and for bounds away from zero."""
LEAST_NUMBER: Final = 1e-18
"""Smallest bound, apart from zero, that the library writes as a pattern."""

KNOWN_FORMATS: Final = frozenset(
    {"date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid", "uri", "unknown"}
)
"""Formats that are enforced. JSON Schema calls any other one an annotation."""

_ANNOTATIONS: Final = frozenset(
    {
        "title", "description", "default", "example", "examples", "deprecated", "readOnly", "writeOnly", "$comment",
        "contentMediaType", "contentEncoding", "contentSchema", "discriminator", "xml", "externalDocs",
        "minContains", "maxContains", "then", "else",
    }
)  # fmt: skip
_KEPT: Final = frozenset(
    {
        "$schema", "$id", "id", "$anchor", "const", "enum", "type", "required", "multipleOf",
        "minItems", "maxItems", "minLength", "maxLength",
    }
)  # fmt: skip
_ASSERTIONS: Final = frozenset(
    {
        "not", "if", "contains", "dependentRequired", "dependentSchemas", "dependencies", "propertyNames",
        "uniqueItems", "unevaluatedProperties", "unevaluatedItems", "oneOf", "pattern", "patternProperties",
    }
)  # fmt: skip
"""Keywords that restrict values and may be left out."""
_ONE: Final = frozenset({"items", "additionalItems", "additionalProperties"})
_LISTS: Final = frozenset({"prefixItems", "anyOf", "allOf"})
_MAPS: Final = frozenset({"properties", "$defs", "definitions"})
_BOUNDS: Final = {"maximum": -1, "exclusiveMaximum": -1, "minimum": 1, "exclusiveMinimum": 1}
"""Each bound with the direction of numbers within it."""
_APPLICATORS: Final = ("$ref", "$dynamicRef", "allOf", "anyOf", "oneOf", "if", "dependentSchemas", "contains")

Node = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Enforceable:
    """A schema that is enforced in the place of another one.

    left_out: keywords of the other one that are not enforced, in order.
    """

    schema: object
    left_out: tuple[str, ...] = ()


def enforceable(schema: object) -> Enforceable:
    """Rewrite a JSON Schema. Takes time in proportion to its size, and stops at MOST_PARTS."""
    if not isinstance(schema, dict):
        return Enforceable(schema)
    rewriting = _Rewriting(schema)
    whole = rewriting.whole()
    return Enforceable(whole, tuple(rewriting.left_out))


def subschemas(node: Node) -> Iterator[object]:
    """Yield the schemas directly below a rewritten one."""
    for name, value in node.items():
        if name in _MAPS or name == "patternProperties":
            yield from value.values() if isinstance(value, dict) else ()
        elif name in _ONE or name in _LISTS:
            yield from value if isinstance(value, list) else (value,)


class _Rewriting:
    """The rewriting of one schema. left_out: as in Enforceable; a dict, for its order."""

    def __init__(self, root: dict[str, Any]) -> None:
        self.left_out: dict[str, None] = {}
        self._root = root
        self._moved: dict[str, str] = {}
        self._to_move: list[str] = []
        self._num_parts = 0
        self._special: Mapping[str, Callable[[dict[str, Any], Node, int], None]] = {
            "$ref": self._ref,
            "pattern": self._pattern,
            "patternProperties": self._pattern_properties,
            "format": self._format,
            "oneOf": self._one_of,
            "propertyNames": self._property_names,
            "uniqueItems": self._unique_items,
            "unevaluatedProperties": self._unevaluated,
            "unevaluatedItems": self._unevaluated,
            "minProperties": self._count_of_properties,
            "maxProperties": self._count_of_properties,
        }

    def whole(self) -> object:
        """Return the rewritten schema. Targets of references outside of definitions become definitions."""
        made = self._node(self._root, 0)
        moved = dict[str, object]()
        while self._to_move:
            ref = self._to_move.pop()
            moved[self._moved[ref]] = self._node(resolved(self._root, ref), 1)
            if (container := ref.split("/")[1]) not in _ASSERTIONS:
                self.left_out.pop(container, None)
        if moved and isinstance(made, dict):
            known = made.get("$defs")
            made["$defs"] = {**(known if isinstance(known, dict) else {}), **moved}
        return made

    def _node(self, node: object, level: int) -> object:
        self._num_parts += 1 + (len(node) if isinstance(node, dict | list) else 0)
        if not isinstance(node, dict) or level > MOST_LEVELS or self._num_parts > MOST_PARTS:
            return node
        made: dict[str, Any] = {}
        for name in node:
            self._keyword(made, node, name, level + 1)
        return made

    def _keyword(self, made: dict[str, Any], node: Node, name: str, level: int) -> None:
        """Add what stands for one keyword of `node` to `made`."""
        value = node[name]
        if name in self._special:
            self._special[name](made, node, level)
        elif name in _BOUNDS:
            self._bound(made, node, name)
        elif name in _ONE:
            # Set already if the names of a map are known.
            made.setdefault(name, self._nodes(value, level) if isinstance(value, list) else self._node(value, level))
        elif name == "anyOf":
            made[name] = self._branches(value, level)
        elif name == "allOf" and name in made and isinstance(value, list):
            made[name] += self._nodes(value, level)
        elif name in _LISTS:
            made[name] = self._nodes(value, level)
        elif name in _MAPS and isinstance(value, dict):
            made[name] = {key: self._node(below, level) for key, below in value.items()}
        elif name in _KEPT or name in _MAPS:
            made[name] = value
        elif name not in _ANNOTATIONS:
            self._leave_out(name)

    def _leave_out(self, name: str) -> None:
        self.left_out[name] = None

    def _nodes(self, nodes: object, level: int) -> Any:
        return [self._node(node, level) for node in nodes] if isinstance(nodes, list) else nodes

    def _branches(self, nodes: object, level: int) -> object:
        """Rewrite the branches of `anyOf`. A number may stand for a text whose pattern cannot be enforced.

        Pydantic writes a decimal number as either of them.
        """
        if isinstance(nodes, list) and any(_is_number(node) for node in nodes):
            nodes = [node for node in nodes if not _has_irregular_pattern(node)]
        return self._nodes(nodes, level)

    def _ref(self, made: dict[str, Any], node: Node, level: int) -> None:  # noqa: ARG002
        """Keep a reference to a definition, and make a definition of any other target within the schema."""
        ref = node["$ref"]
        parts = ref.split("/") if isinstance(ref, str) else []
        is_definition = len(parts) == 3 and parts[1] in ("$defs", "definitions")
        if len(parts) > 1 and not is_definition and isinstance(resolved(self._root, ref), dict | bool):
            if ref not in self._moved:
                self._moved[ref] = f"ebb-moved-{len(self._moved)}"
                self._to_move.append(ref)
            ref = f"#/$defs/{self._moved[ref]}"
        made["$ref"] = ref

    def _pattern(self, made: dict[str, Any], node: Node, level: int) -> None:  # noqa: ARG002
        if _has_irregular_pattern(node):
            self._leave_out("pattern")
        else:
            made["pattern"] = node["pattern"]

    def _pattern_properties(self, made: dict[str, Any], node: Node, level: int) -> None:
        patterns = node["patternProperties"]
        if not isinstance(patterns, dict):
            made["patternProperties"] = patterns
            return
        kept = {pattern: self._node(below, level) for pattern, below in patterns.items() if is_regular(pattern)}
        if len(kept) < len(patterns):
            self._leave_out("patternProperties")
        if kept:
            made["patternProperties"] = kept

    def _format(self, made: dict[str, Any], node: Node, level: int) -> None:  # noqa: ARG002
        if node["format"] in KNOWN_FORMATS if isinstance(node["format"], str) else True:
            made["format"] = node["format"]

    def _bound(self, made: dict[str, Any], node: Node, name: str) -> None:
        """Keep a bound that the library can write, moved by less than its precision. Leave out a larger one."""
        bound, inward = node[name], _BOUNDS[name]
        if isinstance(bound, bool) or not isinstance(bound, int | float):
            made[name] = bound
        elif bound and not LEAST_NUMBER <= abs(bound) <= _most(node, bound * inward > 0):
            self._leave_out(name)
        else:
            nearest = float(bound)
            is_outside = nearest > bound if inward < 0 else nearest < bound
            if is_outside or abs(nearest) > MOST_INTEGER:
                nearest = math.nextafter(nearest, math.inf * inward)
            made[name] = bound if nearest == bound else int(nearest)

    def _one_of(self, made: dict[str, Any], node: Node, level: int) -> None:
        """Write `oneOf` as `anyOf`, and name it unless no value can match two branches."""
        nodes = node["oneOf"]
        if not are_exclusive(self._root, nodes):
            self._leave_out("oneOf")
        branches = self._nodes(nodes, level)
        if "anyOf" in node or "anyOf" in made:
            earlier = made.get("allOf")
            made["allOf"] = [*(earlier if isinstance(earlier, list) else ()), {"anyOf": branches}]
        else:
            made["anyOf"] = branches

    def _property_names(self, made: dict[str, Any], node: Node, level: int) -> None:
        """Write the names of a map as its properties, or as a pattern of them."""
        names, others = node["propertyNames"], node.get("additionalProperties", True)
        if isinstance(names, dict) and isinstance(names.get("$ref"), str) and len(names) == 1:
            names = resolved(self._root, names["$ref"])
        rules = {key: names[key] for key in names if key not in _ANNOTATIONS} if isinstance(names, dict) else names
        if isinstance(rules, dict) and rules.get("type") == "string":
            del rules["type"]
        is_map = not any(key in node for key in ("properties", "patternProperties", *_APPLICATORS))
        if rules in ({}, True):
            return
        if is_map and isinstance(rules, dict) and (pattern := _names_as_pattern(rules)) is not None:
            made["patternProperties"] = {pattern: self._node(others, level)}
        elif is_map and isinstance(rules, dict) and rules.keys() <= {"enum", "const"} and len(rules) == 1:
            known = rules["enum"] if "enum" in rules else [rules["const"]]
            below, listed = self._node(others, level), known if isinstance(known, list) else ()
            made["properties"] = {name: below for name in listed if isinstance(name, str)}
        else:
            self._leave_out("propertyNames")
            return
        made["additionalProperties"] = False

    def _unique_items(self, made: dict[str, Any], node: Node, level: int) -> None:  # noqa: ARG002
        most = node.get("maxItems")
        if node["uniqueItems"] is not False and not (isinstance(most, int) and most <= 1):
            self._leave_out("uniqueItems")

    def _unevaluated(self, made: dict[str, Any], node: Node, level: int) -> None:
        """Write a keyword about unevaluated parts as the one about additional parts, where they are the same ones."""
        for name, same in (("unevaluatedProperties", "additionalProperties"), ("unevaluatedItems", "items")):
            if name not in node or node[name] is True:
                continue
            if same in node or any(key in node for key in _APPLICATORS):
                self._leave_out(name)
            else:
                made[same] = self._node(node[name], level)

    def _count_of_properties(self, made: dict[str, Any], node: Node, level: int) -> None:  # noqa: ARG002
        """Keep the counts that the library enforces: up to one, and of objects whose known properties are required."""
        known, required = node.get("properties"), node.get("required")
        needed = {name for name in required if isinstance(name, str)} if isinstance(required, list) else set[str]()
        is_free = "propertyNames" in node or (isinstance(known, dict) and not known.keys() <= needed)
        for name in ("minProperties", "maxProperties"):
            if name not in node:
                continue
            if is_free and node[name] not in (0, 1):
                self._leave_out(name)
            else:
                made[name] = node[name]


def _most(node: Node, is_from_zero: bool) -> float:
    """Return the largest size of a bound. is_from_zero: the bound keeps numbers away from zero."""
    types = node.get("type")
    is_integer = types == "integer" or (isinstance(types, list) and "integer" in types and "number" not in types)
    return 2.0**63 if is_integer and not is_from_zero else MOST_NUMBER


def _is_number(node: object) -> bool:
    return isinstance(node, dict) and node.get("type") in ("number", "integer")


def _has_irregular_pattern(node: object) -> bool:
    return isinstance(node, dict) and isinstance(node.get("pattern"), str) and not is_regular(node["pattern"])


def _names_as_pattern(rules: Node) -> str | None:
    """Return the pattern of names with `rules`; None if a pattern cannot express them."""
    if rules.keys() == {"pattern"} and isinstance(rules["pattern"], str) and is_regular(rules["pattern"]):
        return str(rules["pattern"])
    counts = [rules.get(name) for name in ("minLength", "maxLength")]
    if rules.keys() <= {"minLength", "maxLength"} and all(count is None or type(count) is int for count in counts):
        least, most = counts
        return rf"^[\s\S]{{{least or 0},{'' if most is None else most}}}$"
    return None
