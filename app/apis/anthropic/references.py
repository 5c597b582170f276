"""References to tools in a conversation, which a search for tools found.

    tools     search, DEFERRED weather | user | call of search | result: reference weather | answer
    rendered  search                   | user | call of search | result: description of weather | answer

The first reference to a deferred tool becomes its description. The beginning of the prompt is the same before and after
the search, so its KV is found again. Source:
https://platform.claude.com/docs/en/agents-and-tools/tool-use/tool-search-tool.
"""

from collections.abc import Iterable, Mapping, MutableMapping, Sequence
from typing import Annotated, Any, ClassVar, Literal, Protocol

from pydantic import Field, Tag

from app.domain.bounds import MAX_MESSAGES
from app.prompts.tool_offer import described_inline
from app.schemas.cache_mark import Mark, Markable, longest
from app.schemas.parsing import RequestModel, by_type

Undescribed = MutableMapping[str, Mapping[str, Any]]
"""Functions by name, for as long as the messages have not described them."""


class ToolReferenceBlock(Markable):
    """The name of a tool that a search for tools found."""

    type: Literal["tool_reference"]
    tool_name: str


class FoundTools(RequestModel):
    """The tools that a search on the provider's servers found."""

    type: Literal["tool_search_tool_search_result"]
    tool_references: Annotated[list[ToolReferenceBlock], Field(max_length=MAX_MESSAGES)]


class FailedSearch(RequestModel):
    """The reason for which a search on the provider's servers failed."""

    ignored: ClassVar[frozenset[str]] = frozenset({"error_message"})

    type: Literal["tool_search_tool_result_error"]
    error_code: str


class SearchResultBlock(Markable):
    """The result of a search on the provider's servers, in the answer that searched."""

    type: Literal["tool_search_tool_result"]
    tool_use_id: str
    content: Annotated[
        Annotated[FoundTools, Tag("<FoundTools>")] | Annotated[FailedSearch, Tag("<FailedSearch>")],
        by_type(FoundTools, {"tool_search_tool_result_error": FailedSearch}),
    ]

    @property
    def references(self) -> Sequence[ToolReferenceBlock]:
        """The tools that were found."""
        return self.content.tool_references if isinstance(self.content, FoundTools) else ()

    @property
    def mark(self) -> Mark | None:
        """See Markable."""
        return longest([super().mark, *(reference.mark for reference in self.references)])

    def text(self, undescribed: Undescribed) -> str:
        """Return the content of the message that gives the result to the model."""
        return text_of_search(self.content, undescribed)


def text_of_search(result: FoundTools | FailedSearch, undescribed: Undescribed) -> str:
    """Return the content of the message that gives the result of a search on the server to the model."""
    if isinstance(result, FailedSearch):
        return f"[search failed: {result.error_code}]"
    return text_of_references(result.tool_references, undescribed) or "[no tool found]"


def text_of_references(references: Iterable[ToolReferenceBlock], undescribed: Undescribed) -> str:
    """Describe the tools that are `undescribed`, and remove them from the mapping. Name the others."""
    names = [reference.tool_name for reference in references]
    functions = [undescribed.pop(name) for name in names if name in undescribed]
    described = {function["name"] for function in functions}
    named = "".join(f"[tool: {name}]" for name in names if name not in described)
    return (described_inline(functions) if functions else "") + named


class Readable(Protocol):
    """A block of a result that is not a reference."""

    @property
    def text(self) -> str:
        """The text that the model reads."""


def text_of_result(blocks: Sequence[Readable | ToolReferenceBlock], undescribed: Undescribed) -> str:
    """Join the texts of a result's blocks without a separator. Consecutive references are described together."""
    parts: list[str] = []
    references: list[ToolReferenceBlock] = []
    for block in blocks:
        if isinstance(block, ToolReferenceBlock):
            references.append(block)
            continue
        parts += (text_of_references(references, undescribed), block.text)
        references = []
    return "".join((*parts, text_of_references(references, undescribed)))
