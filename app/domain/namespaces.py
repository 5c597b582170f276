"""Names of tools that are grouped in namespaces, as OpenAI's Responses API groups those of an MCP server.

The model reads and calls such a tool under one name. The API has the two parts of the name apart.
"""


def name_within(namespace: str | None, name: str) -> str:
    """Return the name under which the model reads the tool `name` of `namespace`. None: the tool is in no namespace."""
    return name if namespace is None else f"{namespace}__{name}"
