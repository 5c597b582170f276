"""The check of a complete answer against a schema, some of whose keywords no mask enforces.

Clients choose the schema, so every check has a bound. General validators have none: the branches of references to each
other take exponential time, and so do patterns that backtrack.
"""

import json
import time
from collections.abc import Mapping
from contextlib import suppress
from fractions import Fraction
from typing import Any, Final

import regex

from engine.api.outputs import FormVerdict
from engine.grammar.enforceable import KNOWN_FORMATS
from engine.grammar.references import resolved

MOST_STEPS: Final = 20_000
"""Values compared with schemas. A check that needs more has no verdict."""
MOST_LEVELS: Final = 100
PATTERN_SECONDS: Final = 0.02
"""Seconds of the thread for all patterns together."""

_CALL_FIELDS: Final = frozenset(("name", "parameters"))
"""Fields of a call where calls are JSON without a mark."""

Node = Mapping[str, Any]
_TYPES: Final[Mapping[str, tuple[type, ...]]] = {
    "null": (type(None),),
    "boolean": (bool,),
    "string": (str,),
    "array": (list,),
    "object": (dict,),
    "number": (int, float),
}


class _UncertainError(Exception):
    """The schema has a part that is not checked, or the bound is reached."""


def verdict(schema: object, text: str, *, may_be_call: bool = False) -> FormVerdict | None:
    """Return whether `text`, a complete answer, conforms to `schema`; "unchecked" where that is uncertain.

    may_be_call: the answer may call tools instead. A text that is not JSON, or is a call's object, has no verdict then.
    """
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None if may_be_call else "invalid"
    if may_be_call and isinstance(value, dict) and value.keys() == _CALL_FIELDS:
        return None
    try:
        return "valid" if _Check(schema).conforms(value, schema, 0) else "invalid"
    except _UncertainError:
        return "unchecked"
    except (AttributeError, TypeError, ValueError, ArithmeticError, RecursionError):
        # A keyword that is not enforced may have a value of any kind.
        return "unchecked"


class _Check:
    def __init__(self, root: object) -> None:
        self._root = root
        self._steps = MOST_STEPS
        self._seconds = PATTERN_SECONDS
        self._num_apart = 0

    def conforms(self, value: Any, node: object, level: int) -> bool:
        """Return whether a value conforms to a schema. Raise _UncertainError."""
        self._take(1)
        if level > MOST_LEVELS:
            raise _UncertainError
        if not isinstance(node, dict):
            return node is not False
        level += 1
        return (
            self._is_one_of(value, node)
            and self._matches_branches(value, node, level)
            and (not isinstance(value, dict) or self._object(value, node, level))
            and (not isinstance(value, list) or self._array(value, node, level))
            and (not isinstance(value, str) or self._string(value, node))
            and (isinstance(value, bool) or not isinstance(value, int | float) or _number(value, node))
        )

    def _take(self, steps: int) -> None:
        self._steps -= steps
        if self._steps < 0:
            raise _UncertainError

    def _is_one_of(self, value: Any, node: Node) -> bool:
        if "type" in node:
            types = node["type"] if isinstance(node["type"], list) else [node["type"]]
            if not any(_has_type(value, each) for each in types):
                return False
        if "const" in node and self._key(value) != self._key(node["const"]):
            return False
        return "enum" not in node or self._key(value) in {self._key(each) for each in node["enum"]}

    def _matches_branches(self, value: Any, node: Node, level: int) -> bool:
        if "$ref" in node:
            target = resolved(self._root, node["$ref"])
            if target is None:
                raise _UncertainError
            if not self.conforms(value, target, level):
                return False
        if "$dynamicRef" in node:
            raise _UncertainError
        if not all(self.conforms(value, each, level) for each in node.get("allOf", ())):
            return False
        if "anyOf" in node and not any(self.conforms(value, each, level) for each in node["anyOf"]):
            return False
        if "oneOf" in node and sum(self._conforms_apart(value, each, level) for each in node["oneOf"]) != 1:
            return False
        if "not" in node and self._conforms_apart(value, node["not"], level):
            return False
        if "if" in node:
            branch = "then" if self._conforms_apart(value, node["if"], level) else "else"
            return branch not in node or self._conforms_apart(value, node[branch], level)
        return True

    def _conforms_apart(self, value: Any, node: object, level: int) -> bool:
        """Return whether a value conforms to a schema that no mask enforces, so that its formats are uncertain."""
        self._num_apart += 1
        try:
            return self.conforms(value, node, level)
        finally:
            self._num_apart -= 1

    def _object(self, value: dict[str, Any], node: Node, level: int) -> bool:
        if not _counts(len(value), node, "minProperties", "maxProperties"):
            return False
        if not all(name in value for name in node.get("required", ())):
            return False
        if not all(self._property(name, each, node, level) for name, each in value.items()):
            return False
        for name, names in node.get("dependentRequired", {}).items():
            if name in value and not all(each in value for each in names):
                return False
        dependent = node.get("dependentSchemas", {})
        return all(self._conforms_apart(value, below, level) for name, below in dependent.items() if name in value)

    def _property(self, name: str, value: Any, node: Node, level: int) -> bool:
        schemas = [node["properties"][name]] if name in node.get("properties", ()) else []
        patterns = node.get("patternProperties", {})
        schemas += [below for pattern, below in patterns.items() if self._found(pattern, name)]
        if not schemas and "unevaluatedProperties" in node:
            raise _UncertainError
        if not schemas and "additionalProperties" in node:
            schemas = [node["additionalProperties"]]
        is_named = "propertyNames" not in node or self._conforms_apart(name, node["propertyNames"], level)
        return is_named and all(self.conforms(value, below, level) for below in schemas)

    def _array(self, value: list[Any], node: Node, level: int) -> bool:
        if not _counts(len(value), node, "minItems", "maxItems"):
            return False
        if "unevaluatedItems" in node:
            raise _UncertainError
        items = node.get("items", True)
        first, rest = (items, node.get("additionalItems", True)) if isinstance(items, list) else ((), items)
        first = node.get("prefixItems", first)
        pairs = ((each, first[at] if at < len(first) else rest) for at, each in enumerate(value))
        if not all(self.conforms(each, below, level) for each, below in pairs):
            return False
        if node.get("uniqueItems") is True and len({self._key(each) for each in value}) < len(value):
            return False
        if "contains" not in node:
            return True
        found = sum(self._conforms_apart(each, node["contains"], level) for each in value)
        return bool(node.get("minContains", 1) <= found <= node.get("maxContains", found))

    def _string(self, value: str, node: Node) -> bool:
        if self._num_apart and node.get("format") in KNOWN_FORMATS:
            raise _UncertainError
        if not _counts(len(value), node, "minLength", "maxLength"):
            return False
        return "pattern" not in node or self._found(node["pattern"], value)

    def _found(self, pattern: str, text: str) -> bool:
        end = time.thread_time() + self._seconds
        try:
            while (seconds := end - time.thread_time()) > 0:
                # The library counts the time of all threads, so its timeout may come long before that of this one.
                with suppress(TimeoutError):
                    return regex.search(pattern, text, timeout=seconds) is not None
            raise _UncertainError
        except regex.error:
            raise _UncertainError from None
        finally:
            self._seconds = end - time.thread_time()

    def _key(self, value: object) -> object:
        """Return a hashable value that is equal for equal values of JSON, in which true is not 1."""
        self._take(1)
        if isinstance(value, bool):
            return ("boolean", value)
        if isinstance(value, list):
            return ("array", tuple(map(self._key, value)))
        if isinstance(value, dict):
            return frozenset((name, self._key(each)) for name, each in value.items())
        return value


def _has_type(value: object, name: object) -> bool:
    if name == "integer":
        return (isinstance(value, int) and not isinstance(value, bool)) or (
            isinstance(value, float) and value.is_integer()
        )
    if isinstance(value, bool):
        return name == "boolean"
    return isinstance(value, _TYPES.get(str(name), ()))


def _counts(count: int, node: Node, least: str, most: str) -> bool:
    return bool(node.get(least, count) <= count <= node.get(most, count))


def _number(value: float, node: Node) -> bool:
    low, high = node.get("exclusiveMinimum"), node.get("exclusiveMaximum")
    if isinstance(low, bool) or isinstance(high, bool):
        # A schema of draft 4.
        raise _UncertainError
    if not node.get("minimum", value) <= value <= node.get("maximum", value):
        return False
    if (low is not None and value <= low) or (high is not None and value >= high):
        return False
    step = node.get("multipleOf")
    return step is None or Fraction(repr(value)) % Fraction(repr(step)) == 0
