"""Values that the examples of request bodies share. A client replaces the model and the ids by its own."""

from typing import Any, Final

MODEL: Final = "smollm2-135m-instruct"
CONVERSATION: Final = "conv_0123456789abcdef0123456789abcdef"
MESSAGE: Final = "msg_0123456789abcdef0123456789abcdef"
RESPONSE: Final = "resp_0123456789abcdef0123456789abcdef"

CHAT: Final[list[dict[str, Any]]] = [{"role": "user", "content": "When is high tide?"}]
ITEM: Final[dict[str, Any]] = {
    "type": "message",
    "role": "user",
    "content": [{"type": "input_text", "text": "And at night?"}],
}
TOOL: Final[dict[str, Any]] = {"type": "function", "function": {"name": "tide", "parameters": {"type": "object"}}}
