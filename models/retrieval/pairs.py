"""A query and a document as one conversation, for decoders that judge the document."""

import re
from typing import Final

from models.chat.format import Message
from models.chat.template_files import read_templates
from models.weights.folder import ModelFolder

_ROLES: Final = tuple(re.compile(rf"""["']{role}["']""") for role in ("query", "document"))
"""The roles that a template of sentence-transformers writes, as they are quoted in it."""

_SYSTEM: Final = (
    "Judge whether the Document meets the requirements based on the Query and the Instruct provided. "
    'Note that the answer can only be "yes" or "no".'
)
_INSTRUCT: Final = "Given a web search query, retrieve relevant passages that answer the query"


def has_pair_roles(folder: ModelFolder) -> bool:
    """Return whether the chat template writes the roles query and document. Raise as `read_templates`."""
    template = read_templates(folder).default or ""
    return all(role.search(template) for role in _ROLES)


def pair_messages(query: str, document: str, *, has_roles: bool) -> list[Message]:
    """Return the conversation whose answer judges `document`.

    has_roles: whether the template has the roles query and document. Otherwise the messages are those of
        Qwen3-Reranker's model card (https://huggingface.co/Qwen/Qwen3-Reranker-0.6B).
    """
    if has_roles:
        return [Message("query", query), Message("document", document)]
    asked = f"<Instruct>: {_INSTRUCT}\n<Query>: {query}\n<Document>: {document}"
    return [Message("system", _SYSTEM), Message("user", asked)]
