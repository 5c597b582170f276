"""POST /v1/responses."""

from collections.abc import Mapping
from functools import partial
from typing import Annotated, Any, ClassVar, Literal

from pydantic import BeforeValidator, Discriminator, Field, Tag

from app.limits import MAX_MESSAGES
from app.schemas.input_items import InputItem, ReasoningItem, supported_input
from app.schemas.metadata import Metadata
from app.schemas.parsing import RequestModel
from app.schemas.sampling import NO_DEFAULTS, MinTokens, SamplingFields, Seed, Temperature, TokenCount, TopK, TopP
from app.schemas.urgency import UrgencyFields
from engine.sampling_params import SamplingParams


def _item_kind(value: object) -> str:
    return "<reasoning>" if isinstance(value, dict) and value.get("type") == "reasoning" else "<message>"


Item = Annotated[
    Annotated[InputItem, Tag("<message>")] | Annotated[ReasoningItem, Tag("<reasoning>")], Discriminator(_item_kind)
]
Items = Annotated[list[Item], Field(min_length=1, max_length=MAX_MESSAGES)]


def _input_kind(value: object) -> str:
    return "<items>" if isinstance(value, list) else "<text>"


Input = Annotated[
    Annotated[str, Field(min_length=1), Tag("<text>")] | Annotated[Items, Tag("<items>")],
    Discriminator(_input_kind),
    BeforeValidator(partial(supported_input, path="input")),
]


class ConversationName(RequestModel):
    """A conversation by its id."""

    id: str


def _conversation_kind(value: object) -> str:
    return "<id>" if isinstance(value, str) else "<object>"


ConversationField = Annotated[
    Annotated[str, Tag("<id>")] | Annotated[ConversationName, Tag("<object>")], Discriminator(_conversation_kind)
]


class TextFormat(RequestModel):
    """Plain text is what there is."""

    type: Literal["text"]


class TextFields(RequestModel):
    """`verbosity` is accepted and does nothing."""

    format: TextFormat | None = None
    verbosity: str | None = None


class ReasoningFields(RequestModel):
    """`effort` counts for models that think before they answer. Thoughts are told as they are, with or without the
    wish for a summary."""

    effort: str | None = None
    summary: str | None = None
    generate_summary: str | None = None


class ResponseStreamOptions(RequestModel):
    """`include_obfuscation` is accepted and does nothing: Ebb pads no events."""

    include_obfuscation: bool | None = None


class ResponseRequest(UrgencyFields):
    """The request of OpenAI's Responses, with `top_k`, `seed`, `min_tokens` and `ignore_eos` beside its own fields."""

    ignored: ClassVar[frozenset[str]] = frozenset(
        {
            "user",
            "parallel_tool_calls",
            "service_tier",
            "safety_identifier",
            "prompt_cache_key",
            "prompt_cache_retention",
            "prompt_cache_options",
            "max_tool_calls",
        }
    )
    neutral: ClassVar[Mapping[str, tuple[Any, ...]]] = {
        "tools": ([],),
        "tool_choice": ("none", "auto"),
        "include": ([],),
        "truncation": ("disabled",),
        "top_logprobs": (0,),
        "prompt": (),
        "context_management": ([],),
        "moderation": (),
        "access_programs": (),
        "image": (),
    }

    model: Annotated[str, Field(min_length=1, max_length=1024)]
    input: Input
    instructions: str | None = None
    previous_response_id: str | None = None
    conversation: ConversationField | None = None
    store: bool | None = None
    background: bool | None = None
    stream: bool | None = None
    stream_options: ResponseStreamOptions | None = None
    max_output_tokens: TokenCount | None = None
    metadata: Metadata | None = None
    text: TextFields | None = None
    reasoning: ReasoningFields | None = None
    temperature: Temperature | None = None
    top_p: TopP | None = None
    top_k: TopK | None = None
    seed: Seed | None = None
    min_tokens: MinTokens | None = None
    ignore_eos: bool | None = None

    @property
    def items(self) -> list[InputItem]:
        """The messages of the input."""
        if isinstance(self.input, str):
            return [InputItem(role="user", content=self.input)]
        return [item for item in self.input if isinstance(item, InputItem)]

    @property
    def conversation_id(self) -> str | None:
        """Of the conversation that it names."""
        return self.conversation.id if isinstance(self.conversation, ConversationName) else self.conversation

    @property
    def is_stored(self) -> bool:
        """Unless the client wants otherwise."""
        return self.store is not False

    def sampling_params(self, defaults: Mapping[str, float] = NO_DEFAULTS) -> SamplingParams:
        """As SamplingFields."""
        shared = {name: getattr(self, name) for name in SamplingFields.model_fields if name in type(self).model_fields}
        return SamplingFields(**shared, max_tokens=self.max_output_tokens).sampling_params(defaults)

    def client_field(self, engine_param: str) -> str:
        """The client's name of a field that the engine refuses."""
        return {"prompt": "input", "max_tokens": "max_output_tokens"}.get(engine_param, engine_param)
