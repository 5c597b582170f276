"""The library of a tenant: presets, prompts to begin messages with, and texts of files, each under a name."""

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Preset:
    """Settings for a chat.

    system_prompt: None without one.
    params: sampling parameters, as those of a conversation.
    model: name of the model that the preset is for; None for any.
    is_default: whether the preset applies to new chats.
    """

    id: str
    name: str
    system_prompt: str | None = None
    params: dict[str, Any] = field(default_factory=dict)
    model: str | None = None
    is_default: bool = False


@dataclass(frozen=True, slots=True)
class SavedPrompt:
    """A text under a name. The text may have placeholders, as in `{{city}}`, which clients fill in."""

    id: str
    name: str
    text: str


@dataclass(frozen=True, slots=True)
class KeptFile:
    """A file in the library of a tenant, without its text.

    characters: length of the text. kept_at: Unix seconds.
    """

    id: str
    name: str
    characters: int
    kept_at: float
