"""POST /v1/chat/completions."""

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal

from pydantic import BeforeValidator, Discriminator, Field, Tag

from app.limits import MAX_MESSAGES
from app.schemas.parsing import RequestModel, supported_items
from app.schemas.sampling import OpenAIRequest, TokenCount
from engine.sampling_params import SamplingParams
from models.pangu.chat_format import Message


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
        "tool_calls": ([],),
        "function_call": (),
        "audio": (),
        "annotations": ([],),
    }

    role: Literal["system", "developer", "user", "assistant"]
    content: Content | None

    @property
    def text(self) -> str:
        """The content as one string; parts are joined without anything between them."""
        if isinstance(self.content, list):
            return "".join(part.text for part in self.content)
        return self.content or ""

    def turn(self) -> Message:
        """What the template gets. "developer" is OpenAI's newer word for "system"."""
        return Message("system" if self.role == "developer" else self.role, self.text)


ChatMessages = Annotated[
    list[ChatMessage],
    Field(min_length=1, max_length=MAX_MESSAGES),
    BeforeValidator(lambda value: supported_items(ChatMessage, value, "messages")),
]


class ChatCompletionRequest(OpenAIRequest):
    """The request of OpenAI's chat API, with `top_k`, `min_tokens` and `ignore_eos` beside its own fields."""

    ignored: ClassVar[frozenset[str]] = OpenAIRequest.ignored | {"reasoning_effort", "verbosity"}
    neutral: ClassVar[Mapping[str, tuple[Any, ...]]] = {
        **OpenAIRequest.neutral,
        "tools": ([],),
        "tool_choice": ("none", "auto"),
        "functions": ([],),
        "function_call": ("none", "auto"),
        "logprobs": (False,),
        "top_logprobs": (0,),
        "response_format": ({"type": "text"},),
        "store": (False,),
        "modalities": (["text"],),
        "audio": (),
        "prediction": (),
        "web_search_options": (),
    }

    messages: ChatMessages
    max_completion_tokens: TokenCount | None = None

    def sampling_params(self) -> SamplingParams:
        """As SamplingFields, where `max_completion_tokens` wins over its older name."""
        if self.max_completion_tokens is None:
            return super().sampling_params()
        return self.model_copy(
            update={"max_tokens": self.max_completion_tokens, "max_completion_tokens": None}
        ).sampling_params()

    def client_field(self, engine_param: str) -> str:
        """The engine's prompt comes from the messages; its max_tokens may have had the newer name."""
        if engine_param == "prompt":
            return "messages"
        newer = engine_param == "max_tokens" and self.max_completion_tokens is not None
        return "max_completion_tokens" if newer else engine_param
