"""POST /v1/responses."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field, Tag

from app.apis.responses.include import LOGPROBS, Includable
from app.apis.responses.input_items import InputItem, RequestItem, SaidItem, is_said, said_in, tools_in
from app.apis.responses.tools_schema import ResponseChoice, ResponseTools, offer_of
from app.domain.bounds import MAX_MESSAGES
from app.domain.response_record import Truncation
from app.prompts.tool_offer import ToolOffer
from app.schemas.answer_forms import BY_FORMAT, NamedSchema, ObjectFormat, TextFormat, of_schema
from app.schemas.cache_mark import CacheKey, CacheOptions, CacheRetention, wanted_promise
from app.schemas.examples import CONVERSATION, ITEM, MODEL, RESPONSE
from app.schemas.hosted_tools import HostedTool
from app.schemas.metadata import Metadata
from app.schemas.parsing import TEXT_OR_LIST, CompatibleRequest, RequestModel, by_kind
from app.schemas.sampling import (
    NO_DEFAULTS,
    MinTokens,
    ModelName,
    SamplingFields,
    Seed,
    Temperature,
    ThinkingBudget,
    TokenCount,
    TopK,
    TopLogprobs,
    TopP,
    UrgencyFields,
)
from app.tenants.wanted_promise import WantedPromise
from engine.api.sampling_params import SamplingParams
from engine.api.structured_output import StructuredOutput

Items = Annotated[list[RequestItem], Field(min_length=1, max_length=MAX_MESSAGES)]


Input = Annotated[
    Annotated[str, Field(min_length=1), Tag("<text>")] | Annotated[Items, Tag("<list>")],
    TEXT_OR_LIST,
]


class ConversationName(RequestModel):
    """A reference to a conversation by id."""

    id: str


def _conversation_kind(value: object) -> str | None:
    if isinstance(value, str):
        return "<id>"
    return "<object>" if isinstance(value, dict | ConversationName) else None


ConversationField = Annotated[
    Annotated[str, Tag("<id>")] | Annotated[ConversationName, Tag("<object>")],
    by_kind(_conversation_kind, "a text or a JSON object"),
]


class FlatSchema(NamedSchema):
    """JSON that conforms to a schema."""

    type: Literal["json_schema"]


TextForm = Annotated[
    Annotated[TextFormat, Tag("<text>")]
    | Annotated[ObjectFormat, Tag("<object>")]
    | Annotated[FlatSchema, Tag("<schema>")],
    BY_FORMAT,
]


class TextFields(RequestModel):
    """The form of the text. `verbosity` is accepted and has no effect."""

    format: TextForm | None = None
    verbosity: str | None = None

    @property
    def form(self) -> StructuredOutput | None:
        """The form of the answer. None if any text is allowed."""
        match self.format:
            case ObjectFormat(form=form):
                return form
            case FlatSchema(schema_=schema):
                return of_schema(schema)
        return None


class ReasoningFields(RequestModel):
    """Options for reasoning. `effort` applies to models that can think.

    Reasoning is returned in full, whether or not a summary is requested.
    """

    effort: str | None = None
    summary: str | None = None
    generate_summary: str | None = None


class ResponseStreamOptions(RequestModel):
    """Options for streams. `include_obfuscation` is accepted and has no effect: Ebb does not pad events."""

    include_obfuscation: bool | None = None


class ResponseCacheOptions(CacheOptions):
    """Options for the prompt cache. Breakpoints are no part of Ebb's Responses, so `mode` has no effect.

    ttl: time for which the prompt's KV is promised.
    prewarm: compute the prompt, and generate nothing.
    comparison_response_id: tell why the prompt does not continue that of this response.
    """

    prewarm: bool | None = None
    comparison_response_id: str | None = None


class PromptFields(CompatibleRequest):
    """The fields that determine a prompt."""

    input: Input
    instructions: str | None = None
    previous_response_id: str | None = None
    conversation: ConversationField | None = None
    tools: ResponseTools | None = None
    tool_choice: ResponseChoice | None = None
    parallel_tool_calls: bool | None = None
    reasoning: ReasoningFields | None = None
    truncation: Truncation | None = None

    @property
    def items(self) -> dict[str, SaidItem]:
        """The input's items except reasoning, keyed by their path in the request. References must be resolved."""
        if isinstance(self.input, str):
            return {"input": InputItem(role="user", content=self.input)}
        return said_in(self.input, "input")

    @property
    def is_empty(self) -> bool:
        """Whether no item becomes part of the prompt."""
        return not isinstance(self.input, str) and not any(map(is_said, self.input))

    @property
    def offer(self) -> ToolOffer:
        """The tools that the request offers, also in its input."""
        given = {"tools": self.tools or [], **({} if isinstance(self.input, str) else tools_in(self.input, "input"))}
        return offer_of(given, self.tool_choice, parallel=self.parallel_tool_calls is not False)

    @property
    def conversation_id(self) -> str | None:
        """Id of the conversation that the request names. None if it names none."""
        return self.conversation.id if isinstance(self.conversation, ConversationName) else self.conversation


class InputTokensRequest(PromptFields):
    """A request to count the tokens of a response's prompt. The form of the text is not part of the prompt."""

    examples = ({"model": MODEL, "input": [ITEM]}, {"input": "Hi", "previous_response_id": RESPONSE})

    ignored: ClassVar[frozenset[str]] = frozenset({"text"})
    model: ModelName | None = None


class CompactRequest(CompatibleRequest):
    """A request to compact a conversation."""

    examples = ({"model": MODEL, "input": [ITEM]}, {"model": MODEL, "previous_response_id": RESPONSE})

    ignored: ClassVar[frozenset[str]] = frozenset({"service_tier", "prompt_cache_key", "prompt_cache_options"})
    neutral: ClassVar[Mapping[str, tuple[Any, ...]]] = {"image": ()}

    model: ModelName
    input: Input | None = None
    instructions: str | None = None
    previous_response_id: str | None = None
    prompt_cache_retention: CacheRetention | None = None
    tools: ResponseTools | None = None


class ResponseRequest(PromptFields, UrgencyFields):
    """A request of OpenAI's Responses API, with llama.cpp's field `return_progress` and Ebb's own fields.

    The latter are `top_k`, `seed`, `min_tokens`, `thinking_token_budget` and `ignore_eos`.
    """

    examples = (
        {"model": MODEL, "input": "When is high tide?", "stream": True},
        {"model": MODEL, "input": [ITEM], "background": True, "previous_response_id": RESPONSE},
        {"model": MODEL, "input": "Hi", "conversation": CONVERSATION, "max_output_tokens": 3, "metadata": {"a": "b"}},
    )

    ignored: ClassVar[frozenset[str]] = frozenset(
        {
            "user",
            "service_tier",
            "safety_identifier",
            "max_tool_calls",
            "moderation",
        }
    )
    neutral: ClassVar[Mapping[str, tuple[Any, ...]]] = {
        "prompt": (),
        "context_management": ([],),
        "access_programs": (),
        "image": (),
    }

    model: ModelName
    include: list[Includable] | None = None
    top_logprobs: TopLogprobs | None = None
    store: bool | None = None
    background: bool | None = None
    generate: bool | None = None
    stream: bool | None = None
    stream_options: ResponseStreamOptions | None = None
    max_output_tokens: TokenCount | None = None
    metadata: Metadata | None = None
    prompt_cache_key: CacheKey | None = None
    prompt_cache_retention: CacheRetention | None = None
    prompt_cache_options: ResponseCacheOptions | None = None
    return_progress: bool | None = None
    text: TextFields | None = None
    temperature: Temperature | None = None
    top_p: TopP | None = None
    top_k: TopK | None = None
    seed: Seed | None = None
    min_tokens: MinTokens | None = None
    thinking_token_budget: ThinkingBudget = None
    ignore_eos: bool | None = None

    @property
    def is_stored(self) -> bool:
        """Whether the response is stored, which is the default."""
        return self.store is not False

    @property
    def is_prompt_alone(self) -> bool:
        """Whether the prompt is computed and nothing is generated."""
        options = self.prompt_cache_options
        return self.generate is False or (options is not None and bool(options.prewarm))

    @property
    def wanted_promise(self) -> WantedPromise | None:
        """The beginning of the prompt whose KV the client wants to be kept; None for none."""
        options = self.prompt_cache_options
        return wanted_promise(1.0, [options.mark]) if options is not None else None

    @property
    def compared_id(self) -> str | None:
        """Id of the response whose prompt is compared with this one; None for no comparison."""
        return self.prompt_cache_options.comparison_response_id if self.prompt_cache_options is not None else None

    def sampling_params(self, defaults: Mapping[str, float] = NO_DEFAULTS) -> SamplingParams:
        """Build the sampling parameters, including the form of the answer."""
        shared = {name: getattr(self, name) for name in SamplingFields.model_fields if name in type(self).model_fields}
        params = SamplingFields(**shared, max_tokens=self.max_output_tokens).sampling_params(defaults)
        if self.is_prompt_alone:
            params = replace(params, max_tokens=0, min_tokens=0)
        elif self.has_logprobs:
            params = replace(params, logprobs=self.top_logprobs or 0)
        form = self._form
        return params if form is None else replace(params, form=form)

    @property
    def has_logprobs(self) -> bool:
        """Whether the response has log probabilities. A connection that ends at once could not return them."""
        is_asked = LOGPROBS in (self.include or ()) or bool(self.top_logprobs)
        return is_asked and bool(self.stream or not self.background)

    @property
    def shows_progress(self) -> bool:
        """Whether the stream reports the progress of the prompt."""
        return bool(self.stream and self.return_progress)

    def repeated_fields(self) -> dict[str, Any]:
        """Return the request's tools and text format as the response repeats them, keyed by `ResponseRecord` fields."""
        tools = [tool for tool in self.tools or () if not isinstance(tool, HostedTool)]
        fields: dict[str, Any] = {"tools": [tool.model_dump(exclude_none=True) for tool in tools]}
        if self.tool_choice is not None:
            choice = self.tool_choice
            fields["tool_choice"] = choice if isinstance(choice, str) else choice.model_dump(exclude_none=True)
        if self.text is not None and self.text.format is not None:
            fields["text_format"] = self.text.format.model_dump(exclude_none=True, by_alias=True)
        return fields | {"parallel_tool_calls": self.parallel_tool_calls is not False}

    def client_field(self, engine_param: str) -> str:
        """Return the client's name of the field behind an engine parameter, for error messages."""
        form = "text.format" if self._form is not None else "tools"
        names = {"prompt": "input", "max_tokens": "max_output_tokens", "form": form, "logprobs": "top_logprobs"}
        return names.get(engine_param, engine_param)

    @property
    def _form(self) -> StructuredOutput | None:
        return self.text.form if self.text is not None else None
