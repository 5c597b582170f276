"""What a response has beyond the message that it is."""

from dataclasses import dataclass

RESPONSE_PREFIX, MESSAGE_PREFIX, REASONING_PREFIX = "resp_", "msg_", "rs_"


@dataclass(frozen=True, slots=True)
class ResponseRecord:
    """model: as it was called then. conversation_id: of the one that the client named, if it named one."""

    model: str
    background: bool
    instructions: str | None
    previous_response_id: str | None
    conversation_id: str | None
    max_output_tokens: int | None
    metadata: dict[str, str]


def response_id_of(message_id: str) -> str:
    """A response is an answer by another name."""
    return RESPONSE_PREFIX + message_id.removeprefix(MESSAGE_PREFIX)


def reasoning_id_of(message_id: str) -> str:
    """Of the thought before an answer, which is part of the same message."""
    return REASONING_PREFIX + message_id.removeprefix(MESSAGE_PREFIX)


def message_id_of(response_id: str) -> str:
    """The other way. An id of another form leads to no message."""
    prefix, name = response_id[: len(RESPONSE_PREFIX)], response_id[len(RESPONSE_PREFIX) :]
    return MESSAGE_PREFIX + name if prefix == RESPONSE_PREFIX else ""
