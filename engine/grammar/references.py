"""References within a JSON Schema."""


def resolved(root: object, ref: str) -> object:
    """Return the schema that a reference into `root` names; None for a reference that leads elsewhere."""
    if not ref.startswith("#"):
        return None
    node = root
    for name in ref[1:].split("/")[1:]:
        name = name.replace("~1", "/").replace("~0", "~")
        if isinstance(node, list) and name.isdecimal() and len(name) < 6 and int(name) < len(node):
            node = node[int(name)]
        elif isinstance(node, dict):
            node = node.get(name)
        else:
            return None
    return node


def followed(root: object, node: object) -> object:
    """Return the schema that `node` stands for if it is nothing but a reference, through at most eight of them."""
    for _ in range(8):
        ref = node.get("$ref") if isinstance(node, dict) else None
        if not isinstance(ref, str):
            break
        node = resolved(root, ref)
    return node
