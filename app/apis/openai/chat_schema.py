"""POST /v1/chat/completions."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import cached_property
from typing import Annotated, Any, ClassVar, Final, Literal

from pydantic import Field, Tag

from app.apis.openai.tools_schema import MAX_CALLS, CalledFunction, CallOfTool, ToolFields
from app.domain.bounds import MAX_MESSAGES
from app.host.backend import Backend
from app.prompts.thinking import preferred_mode, required_mode
from app.schemas.cache_mark import Breakpoint, Mark, Markable, longest, marked_share, wanted_promise
from app.schemas.examples import CHAT, MODEL
from app.schemas.foreign import Foreign, foreign
from app.schemas.parsing import TEXT_OR_LIST, RequestModel, by_kind, by_type, optional
from app.schemas.sampling import NO_DEFAULTS, OpenAIRequest, OptionalTokenCount, ThinkingBudget, TopLogprobs
from app.tenants.wanted_promise import WantedPromise
from engine.api.errors import InvalidRequestError
from engine.api.sampling_params import SamplingParams
from models.chat.format import Message
from models.thinking import ThinkingMode


class TextPart(Markable):
    """One part of a message's content: a text."""

    type: Literal["text"]
    text: str
    prompt_cache_breakpoint: Breakpoint | None = None

    @property
    def mark(self) -> Mark | None:
        """See Markable."""
        own = self.prompt_cache_breakpoint.mark if self.prompt_cache_breakpoint is not None else None
        return longest([super().mark, own])


Part = Annotated[
    Annotated[TextPart, Tag("<TextPart>")] | Annotated[Foreign, Tag("<Foreign>")],
    by_type(TextPart, {}, foreign),
]
Content = Annotated[Annotated[str, Tag("<text>")] | Annotated[list[Part], Tag("<list>")], TEXT_OR_LIST]


NEWER_ROLES: Final = {"developer": "system", "function": "tool"}
"""Roles of the chat template for the roles of OpenAI's API that it does not know."""


class ChatMessage(Markable):
    """One message of the conversation.

    The fields of an echoed earlier answer are accepted. So are the call and the result of OpenAI's first API for
    functions: `function_call`, and the role `function`.

    refusal: the text of an earlier answer that was a refusal.
    """

    ignored: ClassVar[frozenset[str]] = frozenset({"annotations", "audio", "name", "reasoning_content", "reasoning"})

    role: Literal["system", "developer", "user", "assistant", "tool", "function"]
    content: Content | None = None
    refusal: str | None = None
    tool_calls: Annotated[list[CallOfTool], Field(max_length=MAX_CALLS)] | None = None
    tool_call_id: str | None = None
    function_call: CalledFunction | None = None

    @property
    def extents(self) -> Iterator[tuple[int, bool]]:
        """The parts of the message, for `marked_share`."""
        if isinstance(self.content, list):
            yield from ((len(part.text), part.is_marked) for part in self.content)
        else:
            yield len(self.content or ""), False
        yield sum(len(call.call.arguments) for call in self.tool_calls or ()), self.is_marked

    @property
    def marks(self) -> Iterator[Mark | None]:
        """The marks of the message and of its parts."""
        yield self.mark
        yield from (part.mark for part in self.content) if isinstance(self.content, list) else ()

    @property
    def text(self) -> str:
        """The content as one string. Parts are joined without a separator."""
        if isinstance(self.content, list):
            return "".join(part.text for part in self.content)
        return self.content or self.refusal or ""

    def turn(self, index: int) -> Message:
        """Convert to a message of the chat template.

        index: position among the request's messages, for error messages.

        Raises:
            InvalidRequestError: a field is missing, or the role may not have it.
        """
        path = f"messages[{index}]"
        for field in ("tool_calls", "function_call"):
            if getattr(self, field) and self.role != "assistant":
                param = f"{path}.{field}"
                raise InvalidRequestError(f"{param}: only assistant messages may have tool calls", param=param)
        if self.tool_call_id is not None and self.role != "tool":
            param = f"{path}.tool_call_id"
            raise InvalidRequestError(f"{param}: only tool messages may answer a call", param=param)
        contents = {"content", "refusal", "tool_calls", "function_call"}
        if not any(getattr(self, field) for field in contents) and "content" not in self.model_fields_set:
            raise InvalidRequestError(f"{path}.content is required", param=f"{path}.content")
        if self.role == "tool" and self.tool_call_id is None:
            raise InvalidRequestError(f"{path}.tool_call_id is required", param=f"{path}.tool_call_id")
        calls = tuple(call.call for call in self.tool_calls or ())
        if self.function_call is not None:
            calls += (self.function_call.call,)
        return Message(NEWER_ROLES.get(self.role, self.role), self.text, calls)


ChatMessages = Annotated[list[ChatMessage], Field(min_length=1, max_length=MAX_MESSAGES)]


def to_messages(messages: list[ChatMessage]) -> list[Message]:
    """Convert messages to those of the chat template. Raise as `ChatMessage.turn`.

    A tool's message is accepted whichever call it answers: clients trim long histories, and with them the calls.
    """
    return [message.turn(index) for index, message in enumerate(messages)]


class TemplateArguments(RequestModel):
    """Arguments that vLLM passes to the chat template. Only the switch that clients use is supported."""

    enable_thinking: bool | None = None


class ThinkingSwitch(RequestModel):
    """A hint that turns thinking on or off, in the form that GLM, DeepSeek, Kimi and LiteLLM have for it."""

    type: Literal["enabled", "adaptive", "disabled"]
    budget_tokens: ThinkingBudget = None

    @property
    def effort(self) -> str:
        """The effort that means the same."""
        return {"enabled": "high", "adaptive": "low", "disabled": "none"}[self.type]


def _thinking_kind(value: object) -> str | None:
    if isinstance(value, str):
        return "<mode>"
    return "<switch>" if isinstance(value, dict | ThinkingSwitch) else None


Thinking = Annotated[
    Annotated[ThinkingMode, Tag("<mode>")] | Annotated[ThinkingSwitch, Tag("<switch>")],
    by_kind(_thinking_kind, "'slow', 'auto' or 'off', or a JSON object"),
]


class ChatCompletionRequest(OpenAIRequest, ToolFields):
    """A request of OpenAI's chat API.

    Ebb's own fields are `top_k`, `min_tokens`, `ignore_eos` and `thinking`. `chat_template_kwargs` is accepted in the
    form that vLLM's clients send.
    """

    examples = (
        {"model": MODEL, "messages": CHAT, "stream": True, "stream_options": {"include_usage": True}},
        {"model": MODEL, "messages": CHAT, "max_tokens": 3, "temperature": 0.5, "stop": ["9"], "seed": -1},
    )

    ignored: ClassVar[frozenset[str]] = (OpenAIRequest.ignored - {"parallel_tool_calls"}) | {"prediction", "verbosity"}
    neutral: ClassVar[Mapping[str, tuple[Any, ...]]] = {
        **OpenAIRequest.neutral,
        "functions": ([],),
        "function_call": ("none", "auto"),
        "modalities": (["text"],),
        "audio": (),
    }

    messages: Annotated[
        ChatMessages,
        Field(
            description="messages with the roles system, developer, user, assistant and tool; a note takes the place "
            "of parts that are no text"
        ),
    ]
    max_completion_tokens: OptionalTokenCount = optional("newer name of `max_tokens`; takes precedence over it")
    logprobs: bool | None = optional(
        "returns the model's own log probability of every token of the answer, including its thoughts"
    )
    top_logprobs: TopLogprobs | None = optional(
        "number of most likely tokens to return for each token; needs `logprobs`"
    )
    thinking: Thinking | None = optional(
        "whether the model thinks before it answers, if it can; or an object with `type` `enabled`, `adaptive` or "
        "`disabled`, as other servers have it"
    )
    reasoning_effort: str | None = optional(
        "`none` and `minimal` turn thinking off, other values turn it on, if the model can think"
    )
    chat_template_kwargs: TemplateArguments | None = optional("`enable_thinking`, as in vLLM")
    include_reasoning: bool | None = optional("`false` leaves the model's thoughts out of the answer")
    continue_final_message: bool | None = optional(
        "the answer continues the last message, which must be the assistant's; needs `add_generation_prompt: false`"
    )
    add_generation_prompt: bool | None = optional("`false` is accepted together with `continue_final_message` only")

    @cached_property
    def marked_share(self) -> float:
        """See AnswerRequest. Marks in messages are more exact than the key, which covers the whole prompt."""
        marked = any(is_marked for message in self.messages for _, is_marked in message.extents)
        if not marked:
            return super().marked_share
        tools = sum(len(json.dumps(function)) for function in self.offer.functions)
        return marked_share([(tools, False), *(extent for message in self.messages for extent in message.extents)])

    @property
    def wanted_promise(self) -> WantedPromise | None:
        """See AnswerRequest. The options cover the whole prompt, or with `explicit` what the marks cover."""
        if (whole := super().wanted_promise) is not None:
            return whole
        options = self.prompt_cache_options
        marks = [mark for message in self.messages for mark in message.marks]
        of_options = options.mark if options is not None and any(marks) else None
        return wanted_promise(self.marked_share, [of_options, *marks])

    @property
    def opening(self) -> str:
        """The beginning of the answer, if the request continues its last message."""
        return self.messages[-1].text if self.continue_final_message else ""

    def turns(self) -> list[Message]:
        """Return the messages for the chat template, with the tools first. The answer's beginning is not among them.

        Raises:
            InvalidRequestError: as `to_messages`, or the last message cannot be continued.
        """
        turns = to_messages(self.messages)
        if bool(self.continue_final_message) == (self.add_generation_prompt is not False):
            raise InvalidRequestError(
                "add_generation_prompt must be false with continue_final_message, and true without it",
                param="add_generation_prompt",
            )
        if self.continue_final_message:
            last = turns.pop()
            if last.role != "assistant" or last.tool_calls or self.offer.is_required:
                param = f"messages[{len(turns)}]"
                raise InvalidRequestError(
                    f"{param}: only the text of an assistant's message can be continued", param=param
                )
        return [*self.offer.messages, *turns]

    def thinking_mode(self, engine: Backend) -> ThinkingMode | None:
        """Choose the thinking mode from the most explicit of the three fields that can state it.

        Raise InvalidRequestError if `thinking` names a mode that the model does not support.
        """
        if isinstance(self.thinking, ThinkingSwitch):
            return preferred_mode(engine, self.thinking.effort)
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
        fields = self.model_copy(update={"max_tokens": limit, "reasoning_budget_tokens": self._last_budget})
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
        if engine_param == "max_tokens" and self.max_completion_tokens is not None:
            return "max_completion_tokens"
        name = super().client_field(engine_param)
        is_switch = name == "thinking_token_budget" and self.thinking_token_budget is None
        return "thinking.budget_tokens" if is_switch else name

    @property
    def _last_budget(self) -> int | None:
        """The budget of thoughts that counts if no other field states one."""
        if self.reasoning_budget_tokens is None and isinstance(self.thinking, ThinkingSwitch):
            return self.thinking.budget_tokens if self.thinking.type == "enabled" else None
        return self.reasoning_budget_tokens
