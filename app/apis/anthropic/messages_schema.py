"""POST /v1/messages and /v1/messages/count_tokens."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Annotated, Any, ClassVar, Literal

from pydantic import BeforeValidator, Discriminator, Field, Tag

from app.apis.anthropic.serializer import ShownThoughts
from app.apis.anthropic.tools_schema import AnthropicChoice, AnthropicTools, ToolUseBlock, offer_of
from app.domain.bounds import MAX_MESSAGES
from app.host.backend import Backend
from app.prompts.thinking import preferred_mode, required_mode
from app.prompts.tool_offer import ToolOffer
from app.schemas.answer_forms import JsonSchema, of_schema
from app.schemas.parsing import RequestModel, kind_by_type, supported_fields, supported_items, text_or_list
from app.schemas.sampling import NO_DEFAULTS, GenerationRequest, ModelName, StopStrings, TokenCount
from engine.errors import InvalidRequestError
from engine.sampling_params import SamplingParams
from models.chat_format import Message
from models.thinking import ThinkingMode


class TextBlock(RequestModel):
    """One block of text. `cache_control` is ignored, since every prompt is cached."""

    ignored: ClassVar[frozenset[str]] = frozenset({"cache_control"})
    neutral: ClassVar[Mapping[str, tuple[Any, ...]]] = {"citations": ([],)}

    type: Literal["text"]
    text: str


class ThoughtBlock(RequestModel):
    """Reasoning of an earlier answer, as clients send it back.

    Reasoning is never part of a later prompt, so its signature is not checked.
    """

    ignored: ClassVar[frozenset[str]] = frozenset({"thinking", "signature", "data", "cache_control"})

    type: Literal["thinking", "redacted_thinking"]


class ToolResultBlock(RequestModel):
    """The result of a tool call. `is_error` has no effect: the model learns of an error from the content."""

    ignored: ClassVar[frozenset[str]] = frozenset({"cache_control", "is_error"})

    type: Literal["tool_result"]
    tool_use_id: str
    content: "SystemContent | None" = None


KINDS: Mapping[str, type[RequestModel]] = {
    "thinking": ThoughtBlock,
    "redacted_thinking": ThoughtBlock,
    "tool_use": ToolUseBlock,
    "tool_result": ToolResultBlock,
}
"""Models of all blocks except text, by `type`."""


Block = Annotated[
    Annotated[TextBlock, Tag("<TextBlock>")]
    | Annotated[ThoughtBlock, Tag("<ThoughtBlock>")]
    | Annotated[ToolUseBlock, Tag("<ToolUseBlock>")]
    | Annotated[ToolResultBlock, Tag("<ToolResultBlock>")],
    Discriminator(kind_by_type(TextBlock, KINDS)),
]
SystemContent = Annotated[
    Annotated[str, Tag("<text>")] | Annotated[list[TextBlock], Tag("<list>")], Discriminator(text_or_list)
]
Content = Annotated[Annotated[str, Tag("<text>")] | Annotated[list[Block], Tag("<list>")], Discriminator(text_or_list)]


class MessageTurn(RequestModel):
    """One turn of the conversation. The model's chat template decides whether system turns may come between others."""

    role: Literal["user", "assistant", "system"]
    content: Content


class ThinkingConfig(RequestModel):
    """Settings for reasoning: whether the model thinks before it answers, and whether the reasoning is returned.

    A budget has no effect: `max_tokens` covers reasoning and answer together.
    """

    ignored: ClassVar[frozenset[str]] = frozenset({"budget_tokens"})

    type: Literal["enabled", "adaptive", "disabled"]
    display: Literal["summarized", "omitted"] | None = None


class OutputFormat(RequestModel):
    """JSON that conforms to a schema."""

    type: Literal["json_schema"]
    schema_: JsonSchema = Field(alias="schema")


class OutputConfig(RequestModel):
    """The form of the answer. `effort` has no effect."""

    ignored: ClassVar[frozenset[str]] = frozenset({"effort"})

    format: OutputFormat | None = None


def _text(content: str | Sequence[RequestModel] | None) -> str:
    """Join the text blocks without a separator."""
    if content is None or isinstance(content, str):
        return content or ""
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
        {**turn, "content": _supported_blocks(turn["content"], f"messages[{index}].content")}
        if isinstance(turn, dict) and "content" in turn
        else turn
        for index, turn in enumerate(value)
    ]


def _supported_blocks(value: object, path: str) -> object:
    blocks = supported_items(TextBlock, value, path, KINDS)
    if not isinstance(blocks, list):
        return blocks
    return [
        {**block, "content": supported_items(TextBlock, block["content"], f"{path}[{index}].content")}
        if isinstance(block, dict) and "content" in block
        else block
        for index, block in enumerate(blocks)
    ]


class CountTokensRequest(RequestModel):
    """The fields that determine a prompt."""

    ignored: ClassVar[frozenset[str]] = frozenset({"cache_control"})
    neutral: ClassVar[Mapping[str, tuple[Any, ...]]] = {
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
    tools: AnthropicTools | None = None
    tool_choice: AnthropicChoice | None = None

    @property
    def offer(self) -> ToolOffer:
        """The tools that the request offers."""
        return offer_of(self.tools, self.tool_choice)

    @property
    def thoughts(self) -> ShownThoughts:
        """Treatment of reasoning in the answer. None is returned unless the client asks the model to think."""
        if self.thinking is None or self.thinking.type == "disabled":
            return "none"
        return "omitted" if self.thinking.display == "omitted" else "shown"

    def thinking_mode(self, engine: Backend) -> ThinkingMode | None:
        """Choose the thinking mode. Reasoning that would not be returned is avoided where the model allows it.

        Raises InvalidRequestError if thinking is enabled and the model cannot think.
        """
        if self.thinking is None or self.thinking.type == "disabled":
            return preferred_mode(engine, "none")
        if self.thinking.type == "adaptive":
            return preferred_mode(engine, "low")
        return required_mode(engine, "slow", param="thinking")

    def turns(self) -> list[Message]:
        """Return the messages for the chat template: first the tools, then the system prompt, then the turns.

        Raises:
            InvalidRequestError: a role has a block that only another role may have, or a result answers a call that the
                previous answer did not make.
        """
        system = _text(self.system) if self.system is not None else ""
        turns = [turn for index, message in enumerate(self.messages) for turn in _turns(message, f"messages[{index}]")]
        _check_results(self.messages)
        return [*self.offer.messages, *([Message("system", system)] if system else []), *turns]


def _check_results(messages: Sequence[MessageTurn]) -> None:
    """Check that each result answers a call of the previous answer. Consecutive messages of one role count as one.

    Raises InvalidRequestError.
    """
    calls: set[str] = set()
    before = ""
    for number, message in enumerate(messages):
        if message.role == "assistant" != before:
            calls = set()
        before = message.role
        for index, block in enumerate(message.content if isinstance(message.content, list) else ()):
            if isinstance(block, ToolUseBlock):
                calls.add(block.id)
            elif isinstance(block, ToolResultBlock) and block.tool_use_id not in calls:
                param = f"messages[{number}].content[{index}].tool_use_id"
                raise InvalidRequestError(f"{param}: the preceding answer made no call with this id", param=param)


def _turns(message: MessageTurn, path: str) -> list[Message]:
    """Convert a turn to messages of the chat template. Results of calls become messages before the user's text.

    Raises InvalidRequestError for a block that the role may not have.
    """
    blocks = message.content if isinstance(message.content, list) else []
    for index, block in enumerate(blocks):
        speaker = "user" if isinstance(block, ToolResultBlock) else "assistant"
        if not isinstance(block, TextBlock) and message.role != speaker:
            param = f"{path}.content[{index}].type"
            raise InvalidRequestError(f"{param}: only {speaker} messages may have {block.type}", param=param)
    results = [Message("tool", _text(block.content)) for block in blocks if isinstance(block, ToolResultBlock)]
    calls = tuple(block.call for block in blocks if isinstance(block, ToolUseBlock))
    text = _text(message.content)
    return results if results and not text else [*results, Message(message.role, text, calls)]


class MessagesRequest(CountTokensRequest, GenerationRequest):
    """A request of Anthropic's Messages API, with Ebb's own sampling and urgency fields."""

    ignored: ClassVar[frozenset[str]] = CountTokensRequest.ignored | {"metadata", "service_tier", "inference_geo"}
    neutral: ClassVar[Mapping[str, tuple[Any, ...]]] = {
        **CountTokensRequest.neutral,
        "container": (),
        "diagnostics": ({}, {"previous_message_id": None}),
    }

    max_tokens: TokenCount
    stop: StopStrings | None = Field(default=None, alias="stop_sequences")

    def turns(self) -> list[Message]:
        """Return the messages for the chat template, as for a request that counts tokens.

        Raises:
            InvalidRequestError: as there, or the last message is the beginning of an answer (prefill).
        """
        last = len(self.messages) - 1
        if self.messages[last].role == "assistant":
            param = f"messages[{last}].role"
            raise InvalidRequestError(
                f"{param}: the last message is the assistant's; continuing a prefilled answer is not supported",
                param=param,
                code="unsupported",
            )
        return super().turns()

    def sampling_params(self, defaults: Mapping[str, float] = NO_DEFAULTS) -> SamplingParams:
        """Build the sampling parameters, including the form of the answer."""
        params, form = super().sampling_params(defaults), self._format
        return params if form is None else replace(params, form=of_schema(form.schema_))

    def client_field(self, engine_param: str) -> str:
        """Return the client's name of the field behind an engine parameter, for error messages."""
        form = "output_config.format.schema" if self._format is not None else "tools"
        names = {"prompt": "messages", "stop": "stop_sequences", "form": form}
        return names.get(engine_param, engine_param)

    @property
    def _format(self) -> OutputFormat | None:
        return self.output_config.format if self.output_config is not None else None
