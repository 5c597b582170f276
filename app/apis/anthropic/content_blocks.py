"""Content blocks of Anthropic's Messages API."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, ClassVar, Literal

from pydantic import Field, Tag

from app.apis.anthropic.references import SearchResultBlock, ToolReferenceBlock, Undescribed, text_of_result
from app.apis.anthropic.tools_schema import ToolUseBlock
from app.domain.bounds import MAX_MESSAGES
from app.schemas.cache_mark import Mark, Markable, longest
from app.schemas.foreign import Foreign, foreign
from app.schemas.parsing import TEXT_OR_LIST, RequestModel, by_type


class TextBlock(Markable):
    """One block of text. Citations are not part of the prompt."""

    ignored: ClassVar[frozenset[str]] = frozenset({"citations"})

    type: Literal["text"]
    text: str


class ThoughtBlock(Markable):
    """Reasoning of an earlier answer, as clients send it back.

    Reasoning is never part of a later prompt, so its signature is not checked.
    """

    ignored: ClassVar[frozenset[str]] = frozenset({"thinking", "signature", "data"})

    type: Literal["thinking", "redacted_thinking"]


RESULT_KINDS: Mapping[str, type[RequestModel]] = {"tool_reference": ToolReferenceBlock}
ResultBlock = Annotated[
    Annotated[TextBlock, Tag("<TextBlock>")]
    | Annotated[ToolReferenceBlock, Tag("<ToolReferenceBlock>")]
    | Annotated[Foreign, Tag("<Foreign>")],
    by_type(TextBlock, RESULT_KINDS, foreign),
]
ResultContent = Annotated[
    Annotated[str, Tag("<text>")] | Annotated[list[ResultBlock], Field(max_length=MAX_MESSAGES), Tag("<list>")],
    TEXT_OR_LIST,
]


class ToolResultBlock(Markable):
    """The result of a tool call. `is_error` has no effect: the model learns of an error from the content."""

    ignored: ClassVar[frozenset[str]] = frozenset({"is_error", "toolset_name"})

    type: Literal["tool_result"]
    tool_use_id: str
    content: ResultContent | None = None

    @property
    def mark(self) -> Mark | None:
        """See Markable."""
        return longest([super().mark, *(block.mark for block in self.blocks)])

    @property
    def blocks(self) -> Sequence[ResultBlock]:
        """The blocks of the content; none if the content is one text."""
        return self.content if isinstance(self.content, list) else ()

    def text(self, undescribed: Undescribed) -> str:
        """Return the content of the message that gives the result to the model."""
        return self.content if isinstance(self.content, str) else text_of_result(self.blocks, undescribed)


class ForeignResult(Foreign):
    """The result of a call that the provider's servers ran, in the answer that called."""


KINDS: Mapping[str, type[RequestModel]] = {
    "thinking": ThoughtBlock,
    "redacted_thinking": ThoughtBlock,
    "tool_use": ToolUseBlock,
    "server_tool_use": ToolUseBlock,
    "mcp_tool_use": ToolUseBlock,
    "tool_result": ToolResultBlock,
    "tool_search_tool_result": SearchResultBlock,
    **dict.fromkeys(
        (
            "advisor_tool_result",
            "bash_code_execution_tool_result",
            "code_execution_tool_result",
            "mcp_tool_result",
            "text_editor_code_execution_tool_result",
            "web_fetch_tool_result",
            "web_search_tool_result",
        ),
        ForeignResult,
    ),
}
"""Models of all blocks except text and foreign ones, by `type`."""


Block = Annotated[
    Annotated[TextBlock, Tag("<TextBlock>")]
    | Annotated[ThoughtBlock, Tag("<ThoughtBlock>")]
    | Annotated[ToolUseBlock, Tag("<ToolUseBlock>")]
    | Annotated[ToolResultBlock, Tag("<ToolResultBlock>")]
    | Annotated[SearchResultBlock, Tag("<SearchResultBlock>")]
    | Annotated[ForeignResult, Tag("<ForeignResult>")]
    | Annotated[Foreign, Tag("<Foreign>")],
    by_type(TextBlock, KINDS, foreign),
]
SystemContent = Annotated[
    Annotated[str, Tag("<text>")] | Annotated[list[TextBlock], Field(max_length=MAX_MESSAGES), Tag("<list>")],
    TEXT_OR_LIST,
]
Content = Annotated[
    Annotated[str, Tag("<text>")] | Annotated[list[Block], Field(max_length=MAX_MESSAGES), Tag("<list>")],
    TEXT_OR_LIST,
]


def text_of(content: str | Sequence[RequestModel]) -> str:
    """Join the text blocks, and the notes in place of foreign ones, without a separator."""
    if isinstance(content, str):
        return content
    return "".join(
        block.text
        for block in content
        if isinstance(block, TextBlock | Foreign) and not isinstance(block, ForeignResult)
    )


def extents_of(content: str | Sequence[Block]) -> Iterator[tuple[int, bool]]:
    """Yield the parts of a turn for `marked_share`."""
    if isinstance(content, str):
        yield len(content), False
        return
    for block in content:
        match block:
            case ToolUseBlock():
                yield len(block.call.arguments), block.is_marked
            case ToolResultBlock() | SearchResultBlock():
                yield len(block.text({})), block.is_marked
            case ForeignResult():
                yield len(block.text), block.is_marked
            case _:
                yield len(text_of([block])), block.is_marked
