"""POST /v1/chat/completions."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated, Any, ClassVar, Literal

from pydantic import BeforeValidator, Discriminator, Field, Tag

from app.backend import Backend
from app.limits import MAX_MESSAGES
from app.schemas.parsing import RequestModel, supported_items, told
from app.schemas.sampling import NO_DEFAULTS, OpenAIRequest, TokenCount, TopLogprobs
from app.schemas.tools import MAX_CALLS, CallOfTool, ToolFields
from app.thinking import preferred_mode, required_mode
from engine.errors import InvalidRequestError
from engine.sampling_params import SamplingParams
from models.pangu.chat_format import Message
from models.thinking import ThinkingMode


class TextPart(RequestModel):
    """One part of a message's content. Other kinds than text are refused."""

    type: Literal["text"]
    text: str


def _content_kind(value: object) -> str:
    return "<parts>" if isinstance(value, list) else "<text>"


Content = Annotated[
    Annotated[str, Tag("<text>")] | Annotated[list[TextPart], Tag("<parts>")], Discriminator(_content_kind)
]


class ChatMessage(RequestModel):
    """One message. A client that echoes an earlier answer sends that answer's empty fields too: they do no harm."""

    ignored: ClassVar[frozenset[str]] = frozenset({"name", "reasoning_content"})
    neutral: ClassVar[Mapping[str, tuple[Any, ...]]] = {
        "refusal": (),
        "function_call": (),
        "audio": (),
        "annotations": ([],),
    }

    role: Literal["system", "developer", "user", "assistant", "tool"]
    content: Content | None = None
    tool_calls: Annotated[list[CallOfTool], Field(max_length=MAX_CALLS)] | None = None
    tool_call_id: str | None = None

    @property
    def text(self) -> str:
        """The content as one string; parts are joined without anything between them."""
        if isinstance(self.content, list):
            return "".join(part.text for part in self.content)
        return self.content or ""

    def turn(self, index: int) -> Message:
        """What the template gets. "developer" is OpenAI's newer word for "system". index: among the messages.

        Raises:
            InvalidRequestError: it says nothing, or what only others may say.
        """
        path = f"messages[{index}]"
        if self.tool_calls and self.role != "assistant":
            param = f"{path}.tool_calls"
            raise InvalidRequestError(f"{param}: only the assistant calls tools", param=param)
        if self.tool_call_id is not None and self.role != "tool":
            param = f"{path}.tool_call_id"
            raise InvalidRequestError(f"{param}: only a tool's message answers a call", param=param)
        if not self.tool_calls and "content" not in self.model_fields_set:
            raise InvalidRequestError(f"{path}.content is required", param=f"{path}.content")
        calls = tuple(call.call(f"{path}.tool_calls[{number}]") for number, call in enumerate(self.tool_calls or ()))
        return Message("system" if self.role == "developer" else self.role, self.text, calls)


ChatMessages = Annotated[
    list[ChatMessage],
    Field(min_length=1, max_length=MAX_MESSAGES),
    BeforeValidator(lambda value: supported_items(ChatMessage, value, "messages")),
]


def turns_of(messages: list[ChatMessage]) -> list[Message]:
    """What the template gets. Raises as `ChatMessage.turn`, and for what came of a call that nobody made."""
    turns = [message.turn(index) for index, message in enumerate(messages)]
    calls: set[str] = set()
    for index, message in enumerate(messages):
        if message.role != "tool":
            calls = {call.id for call in message.tool_calls or ()}
        elif message.tool_call_id not in calls:
            param = f"messages[{index}].tool_call_id"
            raise InvalidRequestError(f"{param}: the answer before it made no call of this id", param=param)
    return turns


class TemplateArguments(RequestModel):
    """What vLLM hands to a chat template. Only the switch that clients use is known."""

    enable_thinking: bool | None = None


class ChatCompletionRequest(OpenAIRequest, ToolFields):
    """The request of OpenAI's chat API, with `top_k`, `min_tokens`, `ignore_eos` and `thinking` beside its own fields,
    and `chat_template_kwargs` as vLLM's clients send it."""

    ignored: ClassVar[frozenset[str]] = (OpenAIRequest.ignored - {"parallel_tool_calls"}) | {"verbosity"}
    neutral: ClassVar[Mapping[str, tuple[Any, ...]]] = {
        "functions": ([],),
        "function_call": ("none", "auto"),
        "store": (False,),
        "modalities": (["text"],),
        "audio": (),
        "prediction": (),
        "web_search_options": (),
    }

    messages: Annotated[
        ChatMessages, Field(description="roles system, developer, user, assistant and tool; parts of text only")
    ]
    max_completion_tokens: TokenCount | None = told("the newer name of `max_tokens`, and wins over it")
    logprobs: bool | None = told(
        "log probabilities of the model itself, of every token of the answer, also of thoughts"
    )
    top_logprobs: TopLogprobs | None = told("so many of the likeliest tokens beside each; needs `logprobs`")
    thinking: ThinkingMode | None = told("whether the model thinks first, where it can")
    reasoning_effort: str | None = told("`none` and `minimal` ask for no thinking, others for it; where the model can")
    chat_template_kwargs: TemplateArguments | None = told("`enable_thinking`, as clients of vLLM say it")

    def turns(self) -> list[Message]:
        """What the template gets, the tools first. Raises as `ChatMessage.turn`."""
        return [*self.offer.messages, *turns_of(self.messages)]

    def thinking_mode(self, engine: Backend) -> ThinkingMode | None:
        """The most explicit of its three fields counts. Raises InvalidRequestError if the model cannot do that."""
        if self.thinking is not None:
            return required_mode(engine, self.thinking, param="thinking")
        enabled = self.chat_template_kwargs.enable_thinking if self.chat_template_kwargs is not None else None
        if enabled is None:
            return preferred_mode(engine, self.reasoning_effort)
        return preferred_mode(engine, "high" if enabled else "none")

    def sampling_params(self, defaults: Mapping[str, float] = NO_DEFAULTS) -> SamplingParams:
        """As SamplingFields, where `max_completion_tokens` wins over its older name.

        Raises:
            InvalidRequestError: `top_logprobs` without `logprobs`.
        """
        if self.top_logprobs and not self.logprobs:
            raise InvalidRequestError("top_logprobs needs logprobs to be true", param="top_logprobs")
        limit = self.max_completion_tokens if self.max_completion_tokens is not None else self.max_tokens
        fields = self.model_copy(update={"max_tokens": limit})
        params = super(ChatCompletionRequest, fields).sampling_params(defaults)
        return replace(params, logprobs=self.top_logprobs or 0) if self.logprobs else params

    def client_field(self, engine_param: str) -> str:
        """The engine's prompt comes from the messages; its max_tokens may have had the newer name."""
        if engine_param == "prompt":
            return "messages"
        if engine_param == "form" and self.answer_form() is None:
            return "tools"
        if engine_param == "logprobs":
            return "top_logprobs"
        newer = engine_param == "max_tokens" and self.max_completion_tokens is not None
        return "max_completion_tokens" if newer else super().client_field(engine_param)
