"""The formats of other applications, and the choice among them for a conversation of a file."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, Literal

from app.conversations.formats import chatgpt, claude, librechat, llama_cpp, open_webui
from app.conversations.formats.checked import Checked
from app.conversations.formats.tree import ForeignChat

ForeignName = Literal["chatgpt", "claude", "librechat", "llama-cpp", "open-webui"]

READ_APART: Final = frozenset({"mapping", "chat_messages", "messages", "messagesTree", "children", "chat", "history"})
"""Members that hold messages. They are read piece by piece."""


@dataclass(frozen=True, slots=True)
class Format:
    """A format.

    matches: whether an object of a file is a conversation in this format.
    read: reads it; takes the time of the import, for messages without one.
    """

    name: ForeignName
    matches: Callable[[dict[str, Any]], bool]
    read: Callable[[Checked, float], ForeignChat]


FORMATS: Final = (
    Format(chatgpt.NAME, chatgpt.matches, chatgpt.read),
    Format(claude.NAME, claude.matches, claude.read),
    Format(llama_cpp.NAME, llama_cpp.matches, llama_cpp.read),
    Format(librechat.NAME, librechat.matches, librechat.read),
    Format(open_webui.NAME, open_webui.matches, open_webui.read),
)


def format_of(members: dict[str, Any]) -> Format | None:
    """Return the format of a conversation; None if it has none of them."""
    return next((each for each in FORMATS if each.matches(members)), None)
