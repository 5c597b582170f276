"""Sampling fields that all generating routes share."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Annotated, Any, ClassVar, Final

from pydantic import BeforeValidator, Field, ValidationInfo
from pydantic_core import PydanticCustomError

from app.domain.bounds import (
    MAX_ALLOWED_TOKENS,
    MAX_ANSWERS,
    MAX_BAD_WORD_LENGTH,
    MAX_BAD_WORDS,
    MAX_BIASED_TOKENS,
    MAX_BUDGET_MESSAGE,
    MAX_STOP_LENGTH,
    MAX_STOP_STRINGS,
    MAX_STOP_TOKENS,
    MAX_TIMEOUT_SECONDS,
    MAX_TOP_LOGPROBS,
)
from app.schemas.answer_forms import FormFields
from app.schemas.cache_mark import CacheKey, CacheOptions, CacheRetention, wanted_promise
from app.schemas.parsing import CompatibleRequest, IgnoredFields, RequestModel, optional
from app.tenants.wanted_promise import WantedPromise
from engine.api.errors import InvalidRequestError
from engine.api.sampling_params import SamplingParams
from engine.api.urgency import Urgency
from models.thinking import ThinkingMode

UNLIMITED: Final = -1


def stop_strings(name: str) -> BeforeValidator:
    """Build the validator of stop strings: a single one is a list, and empty ones, which end no answer, are left out.

    name: the client's name of the field, under which the response tells that a string was left out.
    """

    def as_list(value: object, info: ValidationInfo) -> list[object]:
        strings = [value] if isinstance(value, str) else value
        if not isinstance(strings, list):
            raise PydanticCustomError("text_or_list", "Input should be a text or a list")
        kept = [each for each in strings if each != ""]
        if len(kept) < len(strings) and isinstance(info.context, IgnoredFields):
            info.context.add(name)
        return kept

    return BeforeValidator(as_list)


def _whole(value: object) -> object:
    """Return a number without a fraction as an integer. Clients whose language has one kind of number write 42.0."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _none_if_unlimited(value: object) -> object:
    return None if value == UNLIMITED and type(value) is int else value


StopString = Annotated[str, Field(min_length=1, max_length=MAX_STOP_LENGTH)]
SomeStopStrings = Annotated[list[StopString], Field(max_length=MAX_STOP_STRINGS)]
StopStrings = Annotated[SomeStopStrings, stop_strings("stop")]
Temperature = Annotated[float, Field(ge=0, le=2)]
TopP = Annotated[float, Field(ge=0, le=1)]
Whole = BeforeValidator(_whole)
TopK = Annotated[int, Field(ge=-1, lt=1 << 31), Whole]
Seed = Annotated[int, Field(ge=-(1 << 63), lt=1 << 63), Whole]
TokenCount = Annotated[int, Field(ge=1, le=1 << 31), Whole]
OptionalTokenCount = Annotated[TokenCount | None, BeforeValidator(_none_if_unlimited)]
"""A limit on tokens. -1 means none, as in llama.cpp's server."""
ThinkingBudget = Annotated[Annotated[int, Field(ge=0, le=1 << 31), Whole] | None, BeforeValidator(_none_if_unlimited)]
"""Tokens of thoughts. -1 means no limit, as in vLLM and llama.cpp's server."""
BudgetMessage = Annotated[str, Field(max_length=MAX_BUDGET_MESSAGE)]
MinTokens = Annotated[int, Field(ge=0, le=1 << 31), Whole]
TokenId = Annotated[int, Field(ge=0, lt=1 << 31)]
MinP = Annotated[float, Field(ge=0, le=1)]
RepetitionPenalty = Annotated[float, Field(ge=0.01, le=10)]
Penalty = Annotated[float, Field(ge=-2, le=2)]
Bias = Annotated[float, Field(ge=-100, le=100)]
BiasedToken = Annotated[str, Field(pattern=r"^[0-9]{1,9}$")]
LogitBias = Annotated[dict[BiasedToken, Bias], Field(max_length=MAX_BIASED_TOKENS)]
StopTokens = Annotated[list[TokenId], Field(max_length=MAX_STOP_TOKENS)]
AllowedTokens = Annotated[list[TokenId], Field(min_length=1, max_length=MAX_ALLOWED_TOKENS)]
BadWord = Annotated[str, Field(min_length=1, max_length=MAX_BAD_WORD_LENGTH)]
BadWords = Annotated[list[BadWord], Field(max_length=MAX_BAD_WORDS)]
PromptLength = Annotated[int, Field(ge=-1, lt=1 << 31)]
AnswerCount = Annotated[int, Field(ge=1, le=MAX_ANSWERS)]
TopLogprobs = Annotated[int, Field(ge=0, le=MAX_TOP_LOGPROBS)]
ModelName = Annotated[str, Field(min_length=1, max_length=1024)]


_LISTS: Final = frozenset({"stop", "stop_token_ids", "logit_bias", "allowed_token_ids", "bad_words"})
LEAST_TOP_P: Final = 1e-6
"""Keeps the most likely token alone, as 0 does."""
NO_DEFAULTS: Mapping[str, float] = {}


class SamplingFields(RequestModel):
    """Sampling fields. A field that is left out or null has the default of SamplingParams."""

    temperature: Temperature | None = optional("0 always selects the most likely token")
    top_p: TopP | None = optional(
        "keeps the most likely tokens whose probabilities sum to this share, at least one; applied after `top_k`"
    )
    top_k: TopK | None = optional("keeps this number of most likely tokens; 0 and -1 keep all")
    min_p: MinP | None = optional(
        "drops tokens with less than this share of the most likely token's probability; applied after `top_p`"
    )
    repetition_penalty: RepetitionPenalty | None = optional(
        "divides positive logits of tokens in the prompt or the answer, multiplies negative ones; 1 turns it off"
    )
    presence_penalty: Penalty | None = optional("subtracted from the logits of tokens that are in the answer")
    frequency_penalty: Penalty | None = optional(
        "subtracted from the logit of a token once for each occurrence in the answer"
    )
    logit_bias: LogitBias | None = optional("values to add to the logits of token ids, before the penalties")
    allowed_token_ids: AllowedTokens | None = optional(
        "the only tokens that may be generated; end tokens must be listed as well"
    )
    bad_words: BadWords | None = optional(
        "words whose tokens are never generated in sequence, as at the beginning of a text or after a space; a word "
        "that the end of the prompt began is not completed"
    )
    seed: Seed | None = optional("the same seed produces the same text: alone, in any batch, and after a restart")
    stop: StopStrings | None = optional("strings before which the answer ends; a single string is accepted as well")
    stop_token_ids: StopTokens | None = optional("tokens that end the answer, as the model's own end tokens do")
    include_stop_str_in_output: bool | None = optional("includes the string or token that ended the answer")
    max_tokens: OptionalTokenCount = optional(
        "maximum number of tokens of the answer; default, -1 and more than there is room for: up to the end of the "
        "window"
    )
    min_tokens: MinTokens | None = optional("number of tokens before which nothing ends the answer")
    thinking_token_budget: ThinkingBudget = optional(
        "number of tokens after which the model's thoughts are ended and the answer begins; -1: no limit; no effect on "
        "models that do not think"
    )
    reasoning_budget_message: BudgetMessage | None = optional("text that is added to thoughts which are ended")
    ignore_eos: bool | None = optional("the model's own end tokens do not end the answer")
    skip_special_tokens: bool | None = optional("`false` includes control tokens in the text, by name")

    def sampling_params(self, defaults: Mapping[str, float] = NO_DEFAULTS) -> SamplingParams:
        """Build the engine's sampling parameters.

        A negative `top_k` becomes 0, which is off, and a negative seed its 64-bit two's complement. A `top_p` of 0
        keeps one token.

        defaults: the model's defaults, for fields that the client leaves open.
        """
        chosen: dict[str, Any] = dict(defaults)
        chosen |= {name: value for name in SamplingFields.model_fields if (value := getattr(self, name)) is not None}
        if "top_p" in chosen:
            chosen["top_p"] = max(chosen["top_p"], LEAST_TOP_P)
        if "top_k" in chosen:
            chosen["top_k"] = max(chosen["top_k"], 0)
        if "seed" in chosen:
            chosen["seed"] %= 1 << 64
        if "logit_bias" in chosen:
            # One id can be written in several ways, such as "7" and "07". The last entry wins.
            chosen["logit_bias"] = {int(token_id): bias for token_id, bias in chosen["logit_bias"].items()}.items()
        lists = {name: tuple(chosen[name]) for name in _LISTS & chosen.keys()}
        return SamplingParams(**chosen | lists)


class ChatParams(SamplingFields):
    """Parameters of a conversation or of one of its turns.

    thinking: one of the thinking modes that the model supports.
    """

    thinking: ThinkingMode | None = None


class AnswerParams(ChatParams):
    """Parameters of one answer.

    system_prompt: in place of the conversation's, for this answer only. Empty for none; null for the conversation's.
    """

    system_prompt: str | None = None


Priority = Annotated[int, Field(ge=-(1 << 31), lt=1 << 31)]
TimeoutSeconds = Annotated[float, Field(gt=0, le=MAX_TIMEOUT_SECONDS)]


class UrgencyFields(RequestModel):
    """Priority and timeout of a request: how soon it should be served. Every generating route accepts them.

    priority: smaller is sooner, as in vLLM.
    timeout: seconds from the request's arrival, after which it ends.
    """

    priority: Priority | None = optional("smaller values are served sooner, if `--queue-policy` allows it")
    timeout: TimeoutSeconds | None = optional(
        "seconds after its arrival at which the request ends with the answer so far"
    )

    def urgency(self) -> Urgency:
        """Convert the fields for the engine."""
        return Urgency(self.priority or 0, self.timeout)


class AnswerRequest(UrgencyFields, CompatibleRequest):
    """Fields of every route that generates an answer without storing it."""

    model: Annotated[ModelName, Field(description="name of the model that is served")]
    stream: bool | None = optional("streams the answer as server-sent events")

    @cached_property
    def marked_share(self) -> float:
        """Share of the prompt, from its beginning, that the client marked for caching: 0 to 1."""
        return 0.0

    @property
    def wanted_promise(self) -> WantedPromise | None:
        """The beginning of the prompt whose KV the client wants to be kept; None for none."""
        return None

    @property
    def progress_every(self) -> float | None:
        """See `GenerateRequest`."""
        return None

    def client_field(self, engine_param: str) -> str:
        """Return the client's name of the field behind an engine parameter, for error messages."""
        return engine_param


class GenerationRequest(SamplingFields, AnswerRequest):
    """An AnswerRequest that has the sampling fields next to its own."""


_OTHER_NAMES: Final[Mapping[str, tuple[str, ...]]] = {
    "repetition_penalty": ("repetition_penalty", "repeat_penalty"),
    "thinking_token_budget": ("thinking_token_budget", "thinking_budget_tokens", "reasoning_budget_tokens"),
}
"""Names in requests of an engine parameter, of which the first one that is set counts."""


class OpenAIRequest(GenerationRequest, FormFields):
    """Fields that OpenAI's two generation routes share."""

    ignored: ClassVar[frozenset[str]] = frozenset(
        {
            "user",
            "metadata",
            "parallel_tool_calls",
            "guided_decoding_backend",
            "service_tier",
            "safety_identifier",
            "moderation",
            "store",
            "cache_salt",
            "request_id",
            "spaces_between_special_tokens",
            "num_ctx",
            "cache_prompt",
        }
    )
    neutral: ClassVar[Mapping[str, tuple[Any, ...]]] = {
        "use_beam_search": (False,),
        "length_penalty": (1, 1.0),
        "typical_p": (1, 1.0),
        "mirostat": (0,),
    }
    prompt_cache_key: CacheKey | None = optional(
        "marks the whole prompt for the [eviction policy](../../decisions/eviction.md#marks-of-clients), "
        "whatever the key is"
    )
    prompt_cache_retention: CacheRetention | None = optional(
        "no effect; `X-Ebb-Ignored` names the field if it is `in_memory`, because [the disk](../../decisions/disk.md) "
        "may keep the KV of every prompt, encrypted"
    )
    prompt_cache_options: CacheOptions | None = optional(
        "`ttl` (`30m` or `12h`) asks for [a promise](prompts.md#promises) of the prompt's KV; with `mode: explicit` "
        "only up to the last breakpoint"
    )
    n: AnswerCount | None = optional(
        "number of answers to each prompt, which is computed once; at most `--max-answers` (16)"
    )
    return_token_ids: bool | None = optional("adds `prompt_token_ids` and `token_ids`, as in vLLM")
    return_progress: bool | None = optional(
        "as in llama.cpp: a stream has [the progress of the prompt](chat-completions.md#progress-of-the-prompt) before "
        "its text"
    )
    truncate_prompt_tokens: PromptLength | None = optional(
        "keeps this number of last tokens of the prompt; -1: as many as leave room for `max_tokens` in the window"
    )
    stream_options: "StreamOptions | None" = optional(
        "`include_usage` adds a last chunk with usage, `continuous_usage_stats` adds usage to every chunk; "
        "`include_obfuscation` has no effect"
    )
    repeat_penalty: RepetitionPenalty | None = optional("Ollama's and llama.cpp's name of `repetition_penalty`")
    thinking_budget_tokens: ThinkingBudget = optional("llama.cpp's name of `thinking_token_budget`")
    reasoning_budget_tokens: ThinkingBudget = optional("llama.cpp's other name of `thinking_token_budget`")

    @cached_property
    def marked_share(self) -> float:
        """See AnswerRequest."""
        options = self.prompt_cache_options
        is_promised = options is not None and options.mode != "explicit" and options.mark is not None
        return 1.0 if is_promised or self.prompt_cache_key is not None else 0.0

    @property
    def wanted_promise(self) -> WantedPromise | None:
        """See AnswerRequest."""
        options = self.prompt_cache_options
        return wanted_promise(1.0, [options.mark]) if options is not None and options.mode != "explicit" else None

    @property
    def progress_every(self) -> float | None:
        """See AnswerRequest."""
        return 0.0 if self.stream and self.return_progress else None

    def sampling_params(self, defaults: Mapping[str, float] = NO_DEFAULTS) -> SamplingParams:
        """Build the sampling parameters, including the form of the answer."""
        named = {
            name: next((value for each in names if (value := getattr(self, each)) is not None), None)
            for name, names in _OTHER_NAMES.items()
        }
        fields = self.model_copy(update=named)
        params, form = super(OpenAIRequest, fields).sampling_params(defaults), self.answer_form()
        return params if form is None else replace(params, form=form[0])

    def num_answers(self, most: int) -> int:
        """Return the number of answers per prompt. Raise InvalidRequestError if it exceeds `most`."""
        if (self.n or 1) > most:
            text = f"n is {self.n}; this server gives at most {most} answers to a prompt (--max-answers)"
            raise InvalidRequestError(text, param="n")
        return self.n or 1

    def client_field(self, engine_param: str) -> str:
        """Return the client's name of the field behind an engine parameter, for error messages.

        The form of the answer may come from one of several fields.
        """
        form = self.answer_form() if engine_param == "form" else None
        if form is not None:
            return form[1]
        names = _OTHER_NAMES.get(engine_param, ())
        return next((name for name in names if getattr(self, name) is not None), super().client_field(engine_param))

    def kept(self, prompt: Sequence[int], window: int) -> Sequence[int]:
        """Return the part of the prompt that `truncate_prompt_tokens` keeps: all of it without the field.

        A limit of the answer that leaves nothing of the window counts as none.
        """
        if self.truncate_prompt_tokens is None:
            return prompt
        answer = self.max_tokens if self.max_tokens and self.max_tokens < window else 1
        room = window - answer if self.truncate_prompt_tokens < 0 else self.truncate_prompt_tokens
        return prompt[-max(room, 1) :]

    @property
    def include_usage(self) -> bool:
        """Whether a stream ends with a chunk of usage."""
        return self.stream_options is not None and bool(self.stream_options.include_usage)

    @property
    def has_continuous_usage(self) -> bool:
        """Whether every chunk of a stream has the usage so far. As in vLLM, only together with `include_usage`."""
        return self.include_usage and bool(self.stream_options and self.stream_options.continuous_usage_stats)


class StreamOptions(RequestModel):
    """Options for streams. `include_obfuscation` is accepted and has no effect: Ebb does not pad chunks."""

    include_usage: bool | None = None
    continuous_usage_stats: bool | None = None
    include_obfuscation: bool | None = None


OpenAIRequest.model_rebuild()
