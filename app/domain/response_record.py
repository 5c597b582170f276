"""The fields of a response that its message does not have, and the ids of responses and items."""

from dataclasses import dataclass, field
from typing import Any, Literal

Truncation = Literal["auto", "disabled"]
"""Treatment of a prompt that is too long: without its first messages, or refused."""

RESPONSE_PREFIX, MESSAGE_PREFIX, REASONING_PREFIX = "resp_", "msg_", "rs_"
CALL_ITEM_PREFIX, CALL_PREFIX, TEXT_PREFIX = "fc_", "call_", "text_"


@dataclass(frozen=True, slots=True, kw_only=True)
class ResponseRecord:
    """The fields of a response that its message does not have.

    model: name of the model at the time of the response.
    conversation_id: the conversation that the client named; None if it named none.
    tools, tool_choice, text_format: as the client sent them.
    input_name: name of the input that has the whole conversation; None if the response continues a stored one.
    diagnostics: result of the comparison of the prompt with another one; None if the client asked for none.
    """

    model: str
    background: bool
    instructions: str | None
    previous_response_id: str | None
    conversation_id: str | None
    max_output_tokens: int | None
    metadata: dict[str, str]
    tools: list[dict[str, Any]] = field(default_factory=list)
    tool_choice: str | dict[str, Any] = "auto"
    parallel_tool_calls: bool = True
    text_format: dict[str, Any] = field(default_factory=lambda: {"type": "text"})
    truncation: Truncation = "disabled"
    input_name: str | None = None
    diagnostics: dict[str, Any] | None = None


def response_id_of(message_id: str) -> str:
    """Return the response id of an answer. A response is an answer under another name."""
    return RESPONSE_PREFIX + message_id.removeprefix(MESSAGE_PREFIX)


def reasoning_id_of(message_id: str) -> str:
    """Return the item id of an answer's reasoning, which is part of the same message."""
    return REASONING_PREFIX + message_id.removeprefix(MESSAGE_PREFIX)


def text_id_of(message_id: str, index: int) -> str:
    """Return the item id of the answer's text at `index`. A text after a call is a separate item."""
    return f"{TEXT_PREFIX}{message_id.removeprefix(MESSAGE_PREFIX)}_{index}" if index else message_id


def call_ids_of(message_id: str, index: int) -> tuple[str, str]:
    """Return the item id and the call id of the answer's call at `index`."""
    name = f"{message_id.removeprefix(MESSAGE_PREFIX)}_{index}"
    return CALL_ITEM_PREFIX + name, CALL_PREFIX + name


def message_id_of_item(item_id: str) -> str:
    """Return the id of the message that an item is, or is part of."""
    name = item_id.removeprefix(CALL_ITEM_PREFIX).removeprefix(TEXT_PREFIX)
    return item_id if name == item_id else MESSAGE_PREFIX + name.rpartition("_")[0]


def message_id_of(response_id: str) -> str:
    """Return the message id of a response. An id of another form yields "", which is the id of no message."""
    prefix, name = response_id[: len(RESPONSE_PREFIX)], response_id[len(RESPONSE_PREFIX) :]
    return MESSAGE_PREFIX + name if prefix == RESPONSE_PREFIX else ""
