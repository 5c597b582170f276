"""The JSON that `app.conversations.export` writes, as an import reads it."""

from typing import Annotated, Any, Final, Literal

from pydantic import AfterValidator, Discriminator, Field, Tag

from app.domain.bounds import (
    MAX_FOLDER_DEPTH,
    MAX_FOLDER_NAME,
    MAX_FOLDER_PROMPT,
    MAX_FOLDERS,
    MAX_IMPORTED,
    MAX_MERGED,
    MAX_RATING_NOTE,
    MAX_SUMMARY_LENGTH,
    MAX_TITLE_LENGTH,
)
from app.domain.folder import FolderLevel
from app.domain.records import ConversationSource, Rating, Role, TitleSource
from app.domain.response_record import ResponseRecord, Truncation
from app.schemas.conversations import Tags
from app.schemas.json_bounds import Bounds
from app.schemas.metadata import Metadata
from app.schemas.parsing import RequestModel
from app.schemas.sampling import ChatParams, ModelName
from models.chat.call_syntax.registry import named_format

Name = Annotated[str, Field(min_length=1, max_length=128)]
Time = Annotated[float, Field(ge=0, le=1e11)]
FolderName = Annotated[str, Field(min_length=1, max_length=MAX_FOLDER_NAME)]
JsonObject = dict[str, Any]


FieldName = Annotated[str, Field(min_length=1, max_length=512)]
ToolFormatName = Annotated[str, AfterValidator(named_format)]
Mark = Annotated[str, Field(min_length=1, max_length=128)]

IMPORT_BOUNDS: Final = Bounds(containers=1 << 20, strings=1 << 22, values=1 << 23)
"""Bounds on a file of 64 MiB, which is parsed message by message: MAX_IMPORTED messages as large as exported ones."""


class ErrorFields(RequestModel):
    """Reason why an answer failed."""

    message: str
    type: str
    param: str | None = None
    code: str | None = None


class MayCallFields(RequestModel):
    """An answer that may call tools. Earlier versions exported the marks around calls instead of the format's name."""

    kind: Literal["may_call"]
    format: ToolFormatName | None = None
    start: Mark | None = None
    end: Mark | None = None
    parallel: bool
    custom: list[Name] = Field(default_factory=list)
    json_fields: list[FieldName] = Field(default_factory=list)
    namespaces: list[FieldName] = Field(default_factory=list)


class CallFields(RequestModel):
    """A call that a client sent. arguments: any text, as in `app.domain.tool_use.IsCall`."""

    kind: Literal["call"]
    call_id: Name
    name: Name
    arguments: str
    is_custom: bool = False
    namespace: Name | None = None


class ResultFields(RequestModel):
    """The result of a call."""

    kind: Literal["result"]
    call_id: Name
    is_custom: bool = False


def _kind(value: Any) -> str:
    kind = value.get("kind") if isinstance(value, dict) else getattr(value, "kind", None)
    return f"<{kind}>"


ToolUseFields = Annotated[
    Annotated[MayCallFields, Tag("<may_call>")]
    | Annotated[CallFields, Tag("<call>")]
    | Annotated[ResultFields, Tag("<result>")],
    Discriminator(_kind),
]


class ResponseFields(RequestModel):
    """The parts of a response that its message does not have."""

    model: str
    background: bool
    instructions: str | None
    previous_response_id: str | None
    conversation_id: str | None
    max_output_tokens: int | None
    metadata: Metadata
    tools: list[JsonObject]
    tool_choice: str | JsonObject
    parallel_tool_calls: bool
    text_format: JsonObject
    truncation: Truncation = "disabled"

    def record(self) -> ResponseRecord:
        """Return the record that is stored."""
        return ResponseRecord(**self.model_dump())


class MessageFields(RequestModel):
    """A message. The ids are names within the conversation."""

    id: Name
    parent_id: Name | None
    role: Role
    content: str
    reasoning: str | None = None
    status: Literal["complete", "incomplete", "cancelled", "failed"]
    finish_reason: Annotated[str, Field(max_length=32)] | None = None
    error: ErrorFields | None = None
    usage: JsonObject | None = None
    params: JsonObject | None = None
    left_out: Annotated[int, Field(ge=0, le=MAX_IMPORTED)] | None = None
    summary: Annotated[str, Field(max_length=MAX_SUMMARY_LENGTH)] | None = None
    rating: Rating | None = None
    rating_note: Annotated[str, Field(max_length=MAX_RATING_NOTE)] | None = None
    merged: Annotated[int, Field(ge=2, le=MAX_MERGED)] | None = None
    model: ModelName | None = None
    tool_use: ToolUseFields | None = None
    response: ResponseFields | None = None
    created_at: Time
    completed_at: Time | None = None


class ImportedFields(RequestModel):
    """A conversation of an imported file.

    folder: names from the top down to its folder, or the name of a folder at the top, as earlier versions exported it.
    """

    id: Name
    title: Annotated[str, Field(max_length=MAX_TITLE_LENGTH)] | None
    title_source: TitleSource | None = None
    system_prompt: str | None = None
    params: ChatParams
    pinned: bool = False
    archived: bool = False
    source: ConversationSource = "chat"
    metadata: Metadata = Field(default_factory=dict)
    tags: Tags = Field(default_factory=list)
    folder: FolderName | Annotated[list[FolderName], Field(max_length=MAX_FOLDER_DEPTH)] | None = None
    created_at: Time
    updated_at: Time
    head_id: Name | None
    messages: list[MessageFields]

    def folder_path(self) -> tuple[FolderLevel, ...]:
        """Return the levels from the top down to the folder; none if the conversation is in no folder."""
        names = [self.folder] if isinstance(self.folder, str) else self.folder or []
        return tuple(FolderLevel(name) for name in names)


class ExportedFolder(RequestModel):
    """A folder with a system prompt.

    path: names from the top down to the folder.
    """

    path: Annotated[list[FolderName], Field(min_length=1, max_length=MAX_FOLDER_DEPTH)]
    system_prompt: Annotated[str, Field(min_length=1, max_length=MAX_FOLDER_PROMPT)]


class ImportHead(RequestModel):
    """The fields of a file alongside its conversations, which are checked one by one.

    folders: those with a system prompt, among the folders of the conversations and the folders around these.
    """

    format: Literal["ebb-conversations"]
    format_version: Literal[1, 2, 3]
    exported_at: Time | None = None
    folders: Annotated[list[ExportedFolder], Field(max_length=MAX_FOLDERS)] = Field(default_factory=list)
    next_cursor: str | None = None
    conversations: list[Any]


_TIMES = {"created_at": 1.0, "updated_at": 2.0}
_QUESTION = {"id": "a", "parent_id": None, "role": "user", "content": "?", "status": "complete", "created_at": 1.0}
_ANSWER = {**_QUESTION, "id": "b", "parent_id": "a", "role": "assistant", "content": "!"}
_CHAT = {"id": "c", "title": "Tides", "params": {}, "head_id": "b", "messages": [_QUESTION, _ANSWER], **_TIMES}


class ImportFile(ImportHead):
    """The whole file, as the API's description shows it."""

    examples = ({"format": "ebb-conversations", "format_version": 1, "conversations": [_CHAT]},)

    conversations: list[ImportedFields]
