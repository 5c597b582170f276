"""JSON schemas that no finite value satisfies, because each value would contain another one without end."""

from collections.abc import Callable, Iterator, Mapping

from engine.grammar.references import resolved

MAX_ROUNDS = 32
"""Maximum number of rounds. A schema that needs more counts as satisfiable: its answers end at the token limit."""


def endless_reference(root: object) -> str | None:
    """Return a `$ref` of the schema `root` whose values would never end, if `root` requires one; else None.

    A definition can end if everything that it requires can end. Each round finds the definitions that can end, given
    the definitions found in earlier rounds.
    """
    targets = {ref: resolved(root, ref) for ref in _references(root)}
    endless = set(targets)

    def ends(node: object) -> bool:
        return _ends(node, endless, ends)

    for _ in range(MAX_ROUNDS):
        found = {ref for ref in endless if ends(targets[ref])}
        if not found:
            return None if ends(root) else min(endless)
        endless -= found
    return None


def _ends(node: object, endless: set[str], ends: Callable[[object], bool]) -> bool:
    """Return whether some value of `node` is finite. Parts that are not understood count as finite."""
    if not isinstance(node, dict) or "const" in node or "enum" in node:
        return True
    if node.get("$ref") in endless:
        return False
    for name in ("anyOf", "oneOf"):
        if isinstance(branches := node.get(name), list) and branches and not any(map(ends, branches)):
            return False
    if isinstance(parts := node.get("allOf"), list) and not all(map(ends, parts)):
        return False
    return all(map(ends, _required_parts(node)))


def _required_parts(node: Mapping[str, object]) -> Iterator[object]:
    """Yield the schemas of the values that each value of `node` contains."""
    required, properties = node.get("required"), node.get("properties")
    if node.get("type") == "object" and isinstance(required, list) and isinstance(properties, dict):
        yield from (properties[name] for name in required if isinstance(name, str) and name in properties)
    least = node.get("minItems")
    if node.get("type") == "array" and isinstance(least, int) and least > 0:
        first = node.get("prefixItems")
        if isinstance(first, list):
            yield from first[:least]
        else:
            yield node.get("items")


def _references(root: object) -> Iterator[str]:
    todo = [root]
    while todo:
        node = todo.pop()
        if isinstance(node, dict):
            if isinstance(ref := node.get("$ref"), str):
                yield ref
            todo += node.values()
        elif isinstance(node, list):
            todo += node
