"""POST /v1/messages and /v1/messages/count_tokens."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, ClassVar, Literal

from pydantic import BeforeValidator, Discriminator, Field, Tag

from app.anthropic_shapes import ToldThoughts
from app.backend import Backend
from app.limits import MAX_MESSAGES
from app.schemas.parsing import RequestModel, supported_fields, supported_items
from app.schemas.sampling import GenerationRequest, ModelName, StopStrings, TokenCount
from app.thinking import preferred_mode, required_mode
from engine.errors import InvalidRequestError
from models.pangu.chat_format import Message
from models.thinking import ThinkingMode


class TextBlock(RequestModel):
    """One block of text. What would be cached for a fee elsewhere is cached here anyway."""

    ignored: ClassVar[frozenset[str]] = frozenset({"cache_control"})
    neutral: ClassVar[Mapping[str, tuple[Any, ...]]] = {"citations": ([],)}

    type: Literal["text"]
    text: str


class ThoughtBlock(RequestModel):
    """What was thought before an earlier answer, as clients send it back. No thought is part of a later prompt, so
    there is nothing to check its signature for."""

    ignored: ClassVar[frozenset[str]] = frozenset({"thinking", "signature", "data", "cache_control"})

    type: Literal["thinking", "redacted_thinking"]


THOUGHTS: Mapping[str, type[RequestModel]] = {"thinking": ThoughtBlock, "redacted_thinking": ThoughtBlock}


def _content_kind(value: object) -> str:
    return "<blocks>" if isinstance(value, list) else "<text>"


def _block_kind(value: object) -> str:
    return "<thought>" if isinstance(value, dict) and str(value.get("type")) in THOUGHTS else "<said>"


Block = Annotated[
    Annotated[TextBlock, Tag("<said>")] | Annotated[ThoughtBlock, Tag("<thought>")], Discriminator(_block_kind)
]
SystemContent = Annotated[
    Annotated[str, Tag("<text>")] | Annotated[list[TextBlock], Tag("<blocks>")], Discriminator(_content_kind)
]
Content = Annotated[
    Annotated[str, Tag("<text>")] | Annotated[list[Block], Tag("<blocks>")], Discriminator(_content_kind)
]


class MessageTurn(RequestModel):
    """One turn of the conversation. Whether the system may speak in the midst of it, the template says."""

    role: Literal["user", "assistant", "system"]
    content: Content


class ThinkingConfig(RequestModel):
    """Whether to think before the answer, and whether to tell the thoughts. A budget has no effect: `max_tokens` is
    that of thought and answer together."""

    ignored: ClassVar[frozenset[str]] = frozenset({"budget_tokens"})

    type: Literal["enabled", "adaptive", "disabled"]
    display: Literal["summarized", "omitted"] | None = None


class OutputConfig(RequestModel):
    """Nothing of it changes anything here."""

    ignored: ClassVar[frozenset[str]] = frozenset({"effort"})
    neutral: ClassVar[Mapping[str, tuple[Any, ...]]] = {"format": ()}


def _text(content: str | Sequence[TextBlock | ThoughtBlock]) -> str:
    """Blocks are joined without anything between them."""
    if isinstance(content, str):
        return content
    return "".join(block.text for block in content if isinstance(block, TextBlock))


def _supported_output_config(value: object) -> object:
    return supported_fields(OutputConfig, value, "output_config.") if isinstance(value, dict) else value


def _supported_thinking(value: object) -> object:
    return supported_fields(ThinkingConfig, value, "thinking.") if isinstance(value, dict) else value


def _supported_system(value: object) -> object:
    return supported_items(TextBlock, value, "system")


def _supported_messages(value: object) -> object:
    if not isinstance(value, list):
        return value
    return [
        {**turn, "content": supported_items(TextBlock, turn["content"], f"messages[{index}].content", THOUGHTS)}
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
        "output_format": (),
        "speed": ("standard",),
        "context_management": ({},),
        "mcp_servers": ([],),
    }

    model: ModelName
    messages: Annotated[
        list[MessageTurn], Field(min_length=1, max_length=MAX_MESSAGES), BeforeValidator(_supported_messages)
    ]
    system: Annotated[SystemContent, BeforeValidator(_supported_system)] | None = None
    thinking: Annotated[ThinkingConfig, BeforeValidator(_supported_thinking)] | None = None
    output_config: Annotated[OutputConfig, BeforeValidator(_supported_output_config)] | None = None

    @property
    def thoughts(self) -> ToldThoughts:
        """What the client learns of them: nothing where it does not ask the model to think."""
        if self.thinking is None or self.thinking.type == "disabled":
            return "none"
        return "omitted" if self.thinking.display == "omitted" else "told"

    def thinking_mode(self, engine: Backend) -> ThinkingMode | None:
        """What the model is asked for; nobody waits for thoughts that are not told. Raises InvalidRequestError if it is
        to think and cannot."""
        if self.thinking is None or self.thinking.type == "disabled":
            return preferred_mode(engine, "none")
        if self.thinking.type == "adaptive":
            return preferred_mode(engine, "low")
        return required_mode(engine, "slow", param="thinking")

    def turns(self) -> list[Message]:
        """What the template gets, the system's words first.

        Raises:
            InvalidRequestError: somebody else than the assistant thinks.
        """
        system = _text(self.system) if self.system is not None else ""
        turns = [_turn(message, f"messages[{index}]") for index, message in enumerate(self.messages)]
        return [Message("system", system), *turns] if system else turns


def _turn(message: MessageTurn, path: str) -> Message:
    if message.role != "assistant" and isinstance(message.content, list):
        for index, block in enumerate(message.content):
            if isinstance(block, ThoughtBlock):
                param = f"{path}.content[{index}].type"
                raise InvalidRequestError(f"{param}: only the assistant's messages have {block.type}", param=param)
    return Message(message.role, _text(message.content))


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
