"""POST /v1/chat/completions."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated, Any, ClassVar, Literal

from pydantic import BeforeValidator, Discriminator, Field, Tag

from app.apis.openai.tools_schema import MAX_CALLS, CallOfTool, ToolFields
from app.domain.bounds import MAX_MESSAGES
from app.host.backend import Backend
from app.prompts.thinking import preferred_mode, required_mode
from app.schemas.parsing import RequestModel, optional, supported_items, text_or_list
from app.schemas.sampling import NO_DEFAULTS, OpenAIRequest, TokenCount, TopLogprobs
from engine.errors import InvalidRequestError
from engine.sampling_params import SamplingParams
from models.chat_format import Message
from models.thinking import ThinkingMode


class TextPart(RequestModel):
    """One part of a message's content. Only text is supported."""

    type: Literal["text"]
    text: str


Content = Annotated[
    Annotated[str, Tag("<text>")] | Annotated[list[TextPart], Tag("<list>")], Discriminator(text_or_list)
]


class ChatMessage(RequestModel):
    """One message of the conversation.

    The empty fields of an echoed earlier answer, such as `refusal`, are accepted.
    """

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
        """The content as one string. Parts are joined without a separator."""
        if isinstance(self.content, list):
            return "".join(part.text for part in self.content)
        return self.content or ""

    def turn(self, index: int) -> Message:
        """Convert to a message of the chat template. OpenAI's newer role "developer" becomes "system".

        index: position among the request's messages, for error messages.

        Raises:
            InvalidRequestError: there is no content, or a field that the role may not have.
        """
        path = f"messages[{index}]"
        if self.tool_calls and self.role != "assistant":
            param = f"{path}.tool_calls"
            raise InvalidRequestError(f"{param}: only assistant messages may have tool calls", param=param)
        if self.tool_call_id is not None and self.role != "tool":
            param = f"{path}.tool_call_id"
            raise InvalidRequestError(f"{param}: only tool messages may answer a call", param=param)
        if not self.tool_calls and "content" not in self.model_fields_set:
            raise InvalidRequestError(f"{path}.content is required", param=f"{path}.content")
        calls = tuple(call.call(f"{path}.tool_calls[{number}]") for number, call in enumerate(self.tool_calls or ()))
        return Message("system" if self.role == "developer" else self.role, self.text, calls)


ChatMessages = Annotated[
    list[ChatMessage],
    Field(min_length=1, max_length=MAX_MESSAGES),
    BeforeValidator(lambda value: supported_items(ChatMessage, value, "messages")),
]


def to_messages(messages: list[ChatMessage]) -> list[Message]:
    """Convert messages to those of the chat template.

    Raises:
        InvalidRequestError: as `ChatMessage.turn`, or a tool's message answers a call that the previous answer did not
            make.
    """
    turns = [message.turn(index) for index, message in enumerate(messages)]
    calls: set[str] = set()
    for index, message in enumerate(messages):
        if message.role != "tool":
            calls = {call.id for call in message.tool_calls or ()}
        elif message.tool_call_id not in calls:
            param = f"messages[{index}].tool_call_id"
            raise InvalidRequestError(f"{param}: the preceding answer made no call with this id", param=param)
    return turns


class TemplateArguments(RequestModel):
    """Arguments that vLLM passes to the chat template. Only the switch that clients use is supported."""

    enable_thinking: bool | None = None


class ChatCompletionRequest(OpenAIRequest, ToolFields):
    """A request of OpenAI's chat API.

    Ebb's own fields are `top_k`, `min_tokens`, `ignore_eos` and `thinking`. `chat_template_kwargs` is accepted in the
    form that vLLM's clients send.
    """

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
        ChatMessages,
        Field(description="messages with the roles system, developer, user, assistant and tool; text parts only"),
    ]
    max_completion_tokens: TokenCount | None = optional("newer name of `max_tokens`; takes precedence over it")
    logprobs: bool | None = optional(
        "returns the model's own log probability of every token of the answer, including its thoughts"
    )
    top_logprobs: TopLogprobs | None = optional(
        "number of most likely tokens to return for each token; needs `logprobs`"
    )
    thinking: ThinkingMode | None = optional("whether the model thinks before it answers, if it can")
    reasoning_effort: str | None = optional(
        "`none` and `minimal` turn thinking off, other values turn it on, if the model can think"
    )
    chat_template_kwargs: TemplateArguments | None = optional("`enable_thinking`, as in vLLM")

    def turns(self) -> list[Message]:
        """Return the messages for the chat template, with the tools first. Raises as `to_messages`."""
        return [*self.offer.messages, *to_messages(self.messages)]

    def thinking_mode(self, engine: Backend) -> ThinkingMode | None:
        """Choose the thinking mode from the most explicit of the three fields that can state it.

        Raises InvalidRequestError if `thinking` names a mode that the model does not support.
        """
        if self.thinking is not None:
            return required_mode(engine, self.thinking, param="thinking")
        enabled = self.chat_template_kwargs.enable_thinking if self.chat_template_kwargs is not None else None
        if enabled is None:
            return preferred_mode(engine, self.reasoning_effort)
        return preferred_mode(engine, "high" if enabled else "none")

    def sampling_params(self, defaults: Mapping[str, float] = NO_DEFAULTS) -> SamplingParams:
        """Build the sampling parameters. `max_completion_tokens` takes precedence over the older `max_tokens`.

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
        """Return the client's name of the field behind an engine parameter, for error messages.

        For example, the engine's `prompt` comes from `messages`, and `max_tokens` may have come from its newer name.
        """
        if engine_param == "prompt":
            return "messages"
        if engine_param == "form" and self.answer_form() is None:
            return "tools"
        if engine_param == "logprobs":
            return "top_logprobs"
        newer = engine_param == "max_tokens" and self.max_completion_tokens is not None
        return "max_completion_tokens" if newer else super().client_field(engine_param)
