"""The JSON that `app.export` writes, as it is taken back."""

from typing import Annotated, Any, Literal

from pydantic import Field

from app.limits import MAX_TITLE_LENGTH
from app.records import TitleSource
from app.schemas.parsing import RequestModel
from app.schemas.sampling import ChatParams

Name = Annotated[str, Field(min_length=1, max_length=128)]
Time = Annotated[float, Field(ge=0, le=1e11)]
JsonObject = dict[str, Any]


class ErrorFields(RequestModel):
    """Why an answer failed."""

    message: str
    type: str
    param: str | None = None
    code: str | None = None


class MessageFields(RequestModel):
    """A message. Its id and its parent's are names within the conversation."""

    id: Name
    parent_id: Name | None
    role: Literal["user", "assistant"]
    content: str
    reasoning: str | None = None
    status: Literal["complete", "incomplete", "cancelled", "failed"]
    finish_reason: Annotated[str, Field(max_length=32)] | None = None
    error: ErrorFields | None = None
    usage: JsonObject | None = None
    params: JsonObject | None = None
    created_at: Time
    completed_at: Time | None = None


class ImportedFields(RequestModel):
    """A conversation."""

    id: Name
    title: Annotated[str, Field(max_length=MAX_TITLE_LENGTH)] | None
    title_source: TitleSource | None = None
    system_prompt: str | None = None
    params: ChatParams
    pinned: bool = False
    archived: bool = False
    created_at: Time
    updated_at: Time
    head_id: Name | None
    messages: list[MessageFields]


class ImportFile(RequestModel):
    """The whole file."""

    format: Literal["ebb-conversations"]
    format_version: Literal[1]
    exported_at: Time | None = None
    conversations: list[ImportedFields]
