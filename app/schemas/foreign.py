"""Parts of a history that this server's models cannot read: pictures, files, and what only a provider's servers make.

A client that changes the server in the middle of a conversation sends such parts with every request. The text in a part
takes its place, or else a note that it was left out. The response names the part (`app.schemas.left_out`).
"""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Final

from pydantic import ValidationInfo, model_validator

from app.schemas.cache_mark import Markable
from app.schemas.left_out import LeftOut
from app.schemas.parsing import IgnoredFields

_UNREADABLE: Final = frozenset(
    {
        "audio",
        "audio_url",
        "computer_call_output",
        "computer_screenshot",
        "container_upload",
        "image",
        "image_generation_call",
        "image_url",
        "input_audio",
        "input_image",
        "video_url",
    }
)
"""Types whose content is no text, even where it is written as one."""
_SILENT: Final = frozenset(
    {
        "compaction_trigger",
        "configuration_update",
        "fallback",
        "mcp_list_tools",
        "mcp_tool_listing",
        "reasoning",
        "thinking",
        "tool_addition",
        "tool_removal",
    }
)
"""Types that say nothing to a model, or that are never part of a later prompt."""
_TEXTS: Final = (
    "title",
    "filename",
    "name",
    "url",
    "query",
    "queries",
    "action",
    "operation",
    "path",
    "diff",
    "command",
    "commands",
    "code",
    "arguments",
    "refusal",
    "context",
    "source",
    "text",
    "content",
    "logs",
    "stdout",
    "stderr",
    "output",
    "outputs",
    "result",
    "results",
    "tabs",
    "reason",
    "error",
    "error_code",
    "message",
)
"""Fields with text, in the order in which a model reads them."""


class Foreign(LeftOut, Markable):
    """A part of a message's content.

    text: stands in the part's place.
    """

    text: str

    @classmethod
    def _kept(cls, value: dict[str, Any]) -> dict[str, Any]:
        return {"type": value["type"], "text": _text_of(value), "cache_control": value.get("cache_control")}


def foreign(_: str) -> type[Foreign]:
    """Return the model of a part of any type, for `by_type`."""
    return Foreign


class Picture(Foreign):
    """A picture in a list of encoded ones."""

    place: ClassVar[str] = "images"

    @model_validator(mode="before")
    @classmethod
    def _supported(cls, value: Any, info: ValidationInfo) -> Any:
        """Note the picture, of which nothing is kept."""
        if not isinstance(value, str):
            return value
        if isinstance(info.context, IgnoredFields):
            info.context.add(cls.place)
        return cls._kept({"type": "image"})


def with_pictures(text: str, pictures: Sequence[Picture] | None) -> str:
    """Return `text` after the notes in place of the pictures that belong to it."""
    return "\n".join([*(picture.text for picture in pictures or ()), *([text] if text else [])])


def _text_of(part: Mapping[str, Any]) -> str:
    """Return the text that stands in the place of a part."""
    kind = part["type"]
    if kind in _SILENT:
        return ""
    texts = list[str]()
    _collect(part, texts)
    return "\n".join(texts) or _note(kind)


def _note(kind: str) -> str:
    return f"[{kind} omitted: this model reads text only]"


def _collect(value: object, texts: list[str]) -> None:
    """Add the texts in a value to `texts`, without encoded and encrypted ones."""
    match value:
        case str():
            texts += [value] if value else []
        case list():
            for each in value:
                _collect(each, texts)
        case {"type": str(kind)} if kind in _UNREADABLE:
            texts.append(_note(kind))
        case {"type": "text", "data": str(text)}:
            texts.append(text)
        case dict():
            for name in _TEXTS:
                if name in value:
                    _collect(value[name], texts)
