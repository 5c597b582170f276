"""Presets: settings for chats that a person keeps under a name."""

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
