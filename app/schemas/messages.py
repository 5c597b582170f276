"""POST /v1/messages and /v1/messages/count_tokens."""

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal

from pydantic import BeforeValidator, Discriminator, Field, Tag

from app.limits import MAX_MESSAGES
from app.schemas.parsing import RequestModel, supported_fields, supported_items
from app.schemas.sampling import GenerationRequest, ModelName, StopStrings, TokenCount
from engine.errors import InvalidRequestError
from models.pangu.chat_format import Message


class TextBlock(RequestModel):
    """One block of text. What would be cached for a fee elsewhere is cached here anyway."""

    ignored: ClassVar[frozenset[str]] = frozenset({"cache_control"})
    neutral: ClassVar[Mapping[str, tuple[Any, ...]]] = {"citations": ([],)}

    type: Literal["text"]
    text: str


def _content_kind(value: object) -> str:
    return "<blocks>" if isinstance(value, list) else "<text>"


Content = Annotated[
    Annotated[str, Tag("<text>")] | Annotated[list[TextBlock], Tag("<blocks>")], Discriminator(_content_kind)
]


class MessageTurn(RequestModel):
    """One turn of the conversation. Whether the system may speak in the midst of it, the template says."""

    role: Literal["user", "assistant", "system"]
    content: Content


class OutputConfig(RequestModel):
    """Nothing of it changes anything here."""

    ignored: ClassVar[frozenset[str]] = frozenset({"effort"})
    neutral: ClassVar[Mapping[str, tuple[Any, ...]]] = {"format": ()}


def _text(content: str | list[TextBlock]) -> str:
    """Blocks are joined without anything between them."""
    return content if isinstance(content, str) else "".join(block.text for block in content)


def _supported_output_config(value: object) -> object:
    return supported_fields(OutputConfig, value, "output_config.") if isinstance(value, dict) else value


def _supported_system(value: object) -> object:
    return supported_items(TextBlock, value, "system")


def _supported_messages(value: object) -> object:
    if not isinstance(value, list):
        return value
    return [
        {**turn, "content": supported_items(TextBlock, turn["content"], f"messages[{index}].content")}
        if isinstance(turn, dict) and "content" in turn
        else turn
        for index, turn in enumerate(value)
    ]


class CountTokensRequest(RequestModel):
    """What a prompt is made of."""

    ignored: ClassVar[frozenset[str]] = frozenset({"cache_control"})
    neutral: ClassVar[Mapping[str, tuple[Any, ...]]] = {
        "tools": ([],),
        "tool_choice": ({"type": "auto"}, {"type": "none"}),
        "thinking": ({"type": "disabled"}, {"type": "adaptive"}),
        "output_format": (),
        "speed": ("standard",),
        "context_management": ({},),
        "mcp_servers": ([],),
    }

    model: ModelName
    messages: Annotated[
        list[MessageTurn], Field(min_length=1, max_length=MAX_MESSAGES), BeforeValidator(_supported_messages)
    ]
    system: Annotated[Content, BeforeValidator(_supported_system)] | None = None
    output_config: Annotated[OutputConfig, BeforeValidator(_supported_output_config)] | None = None

    def turns(self) -> list[Message]:
        """What the template gets, the system's words first."""
        system = _text(self.system) if self.system is not None else ""
        turns = [Message(message.role, _text(message.content)) for message in self.messages]
        return [Message("system", system), *turns] if system else turns


class MessagesRequest(CountTokensRequest, GenerationRequest):
    """The request of Anthropic's API, with Ebb's own sampling fields and urgency beside."""

    ignored: ClassVar[frozenset[str]] = CountTokensRequest.ignored | {"metadata", "service_tier", "inference_geo"}
    neutral: ClassVar[Mapping[str, tuple[Any, ...]]] = {
        **CountTokensRequest.neutral,
        "container": (),
        "diagnostics": ({}, {"previous_message_id": None}),
    }

    max_tokens: TokenCount
    stop: StopStrings | None = Field(default=None, alias="stop_sequences")

    def turns(self) -> list[Message]:
        """As in a request to count.

        Raises:
            InvalidRequestError: the last message is the beginning of an answer.
        """
        last = len(self.messages) - 1
        if self.messages[last].role == "assistant":
            param = f"messages[{last}].role"
            raise InvalidRequestError(
                f"{param}: the last message is the assistant's; to go on with a prefilled answer is not supported",
                param=param,
                code="unsupported",
            )
        return super().turns()

    def client_field(self, engine_param: str) -> str:
        """The engine's prompt comes from the messages."""
        return {"prompt": "messages", "stop": "stop_sequences"}.get(engine_param, engine_param)
