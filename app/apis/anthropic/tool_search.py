"""Anthropic's searches for deferred tools, which the server runs.

A regular expression or words are compared with the names, the descriptions and the arguments of the deferred tools.
Source: https://platform.claude.com/docs/en/agents-and-tools/tool-use/tool-search-tool.
"""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from math import log
from typing import Any, ClassVar, Final, Literal

from pydantic_core import SchemaError, SchemaValidator, core_schema

from app.apis.anthropic.references import FailedSearch, FoundTools, ToolReferenceBlock
from app.schemas.cache_mark import Markable

SearchName = Literal["tool_search_tool_regex", "tool_search_tool_bm25"]
SearchType = Literal[
    "tool_search_tool_regex",
    "tool_search_tool_regex_20251119",
    "tool_search_tool_bm25",
    "tool_search_tool_bm25_20251119",
]
Function = Mapping[str, Any]

MAX_FOUND: Final = 5
MAX_QUERY: Final = 200
_WORD: Final = re.compile(r"[^\W_]+")
_SATURATION: Final = 1.5
_LENGTH_WEIGHT: Final = 0.75
_ABOUT: Final = (
    "Search the tools that are not described yet, by their names, descriptions and arguments. The result describes at "
    f"most {MAX_FOUND} of them, which can be called from then on. "
)
_QUERIES: Final[Mapping[SearchName, str]] = {
    "tool_search_tool_regex": f"`query` is a regular expression of at most {MAX_QUERY} characters.",
    "tool_search_tool_bm25": f"`query` has a few words, of at most {MAX_QUERY} characters.",
}


class SearchTool(Markable):
    """A search for deferred tools that the server runs."""

    ignored: ClassVar[frozenset[str]] = frozenset({"allowed_callers", "strict"})

    type: SearchType
    name: SearchName
    defer_loading: Literal[False] | None = None

    @property
    def function(self) -> dict[str, Any]:
        """The search as a function in OpenAI's form."""
        parameters = {"type": "object", "properties": {"query": {"type": "string"}}, "required": ["query"]}
        return {"name": self.name, "description": _ABOUT + _QUERIES[self.name], "parameters": parameters}


def find_tools(name: SearchName, query: object, catalog: Sequence[Function]) -> FoundTools | FailedSearch:
    """Return the functions of `catalog` that match a query of the model, the best first.

    The time is linear in the sizes of the catalog and of the query.
    """
    if not isinstance(query, str) or not query or len(query) > MAX_QUERY:
        return FailedSearch(type="tool_search_tool_result_error", error_code="invalid_tool_input")
    if name == "tool_search_tool_bm25":
        found = _best_of_words(query, catalog)
    else:
        try:
            found = _matches(query, catalog)
        except SchemaError:
            return FailedSearch(type="tool_search_tool_result_error", error_code="invalid_tool_input")
    references = [ToolReferenceBlock(type="tool_reference", tool_name=name) for name in found[:MAX_FOUND]]
    return FoundTools(type="tool_search_tool_search_result", tool_references=references)


def _matches(pattern: str, catalog: Sequence[Function]) -> list[str]:
    """Return the names of matching functions, first those whose name matches. Raise SchemaError for a bad pattern."""
    # Rust's regular expressions take linear time, unlike Python's.
    matches = SchemaValidator(core_schema.str_schema(pattern=pattern)).isinstance_python
    by_name = [str(function["name"]) for function in catalog if matches(function["name"])]
    by_text = [str(function["name"]) for function in catalog if matches(_text(function))]
    return list(dict.fromkeys((*by_name, *by_text)))


def _best_of_words(query: str, catalog: Sequence[Function]) -> list[str]:
    """Return the names of the functions with a word of `query`, in the order of BM25.

    Source: Robertson and Zaragoza, The Probabilistic Relevance Framework: BM25 and Beyond, 2009.
    """
    documents = [Counter(_words(_text(function))) for function in catalog]
    mean = sum(document.total() for document in documents) / max(1, len(documents))
    wanted = set(_words(query))
    frequency = {word: sum(word in document for document in documents) for word in wanted}
    rarity = {word: log(1 + (len(documents) - count + 0.5) / (count + 0.5)) for word, count in frequency.items()}

    def score(document: Counter[str]) -> float:
        room = _SATURATION * (1 - _LENGTH_WEIGHT + _LENGTH_WEIGHT * document.total() / mean)
        counts = ((word, document[word]) for word in sorted(wanted) if word in document)
        return sum(rarity[word] * count * (_SATURATION + 1) / (count + room) for word, count in counts)

    scored = [(score(document), str(function["name"])) for function, document in zip(catalog, documents, strict=True)]
    return [name for points, name in sorted(scored, key=lambda each: -each[0]) if points > 0]


def _words(text: str) -> list[str]:
    return _WORD.findall(text.lower())


def _text(function: Function) -> str:
    """Return all that a search reads of a function."""
    properties = function["parameters"].get("properties")
    arguments = properties if isinstance(properties, dict) else {}
    described = (each.get("description") for each in arguments.values() if isinstance(each, dict))
    texts = (function["name"], function.get("description"), *arguments, *described)
    return "\n".join(text for text in texts if isinstance(text, str))
