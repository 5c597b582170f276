"""POST /v1/completions."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated, Any, ClassVar

from pydantic import Field, Tag

from app.domain.bounds import MAX_ANSWERS, MAX_PROMPTS
from app.schemas.examples import MODEL
from app.schemas.parsing import by_kind, optional
from app.schemas.sampling import NO_DEFAULTS, UNLIMITED, AnswerCount, OpenAIRequest, TokenId, TopLogprobs
from engine.api.errors import InvalidRequestError
from engine.api.sampling_params import SamplingParams

DEFAULT_MAX_TOKENS = 16


def _prompt_kind(value: object) -> str | None:
    if not isinstance(value, list):
        return "<text>" if isinstance(value, str) else None
    first = value[0] if value else 0
    if isinstance(first, list):
        return "<id lists>"
    return "<texts>" if isinstance(first, str) else "<ids>"


BY_PROMPT = by_kind(_prompt_kind, "a text or a list of texts, of token ids or of lists of token ids")
"""Discriminator of prompts: a text, texts, token ids or lists of token ids."""
PromptIds = Annotated[list[TokenId], Field(min_length=1)]
Prompt = Annotated[
    Annotated[str, Tag("<text>")]
    | Annotated[list[str], Field(min_length=1, max_length=MAX_PROMPTS), Tag("<texts>")]
    | Annotated[list[TokenId], Field(min_length=1), Tag("<ids>")]
    | Annotated[list[PromptIds], Field(max_length=MAX_PROMPTS), Tag("<id lists>")],
    BY_PROMPT,
]


class CompletionRequest(OpenAIRequest):
    """A request of OpenAI's older completions API, which continues texts or lists of token ids."""

    examples = ({"model": MODEL, "prompt": "Once"}, {"model": MODEL, "prompt": [72, 105], "stream": True})

    neutral: ClassVar[Mapping[str, tuple[Any, ...]]] = {**OpenAIRequest.neutral, "suffix": ("",)}

    prompt: Annotated[
        Prompt, Field(description="a text, token ids, or a list of either; each prompt has its own choices")
    ]
    best_of: AnswerCount | None = optional(
        "number of answers to generate, of which the `n` with the highest mean log probability per token are "
        "returned; limited as `n` is; more than `n` cannot be streamed"
    )
    max_tokens: Annotated[int, Field(ge=-1, le=1 << 31)] | None = optional(
        "maximum number of tokens of the answer; default 16; -1 and more than there is room for: up to the end of the "
        "window; 0 with `echo` returns the prompt alone"
    )
    echo: bool | None = optional("begins the text with the prompt")
    logprobs: TopLogprobs | None = optional(
        "returns the model's own log probabilities, with this number of most likely tokens at each position; "
        "with `echo` also those of the prompt, whose KV is then recomputed and not kept"
    )

    def prompts(self) -> list[str | list[int]]:
        """List the prompts, each as a text or as token ids."""
        given: Any = self.prompt
        return list(given) if isinstance(given, list) and not isinstance(given[0], int) else [given]

    def num_drawn(self, most: int) -> int:
        """Return how many answers to generate per prompt. `num_answers` of them are returned.

        Raises:
            InvalidRequestError: more than `most`, fewer than are to be returned, or more than one request may ask for.
        """
        returned, drawn = self.num_answers(most), self.best_of or self.n or 1
        if self.best_of is not None and not returned <= self.best_of <= most:
            bounds = f"at least n, which is {returned}, and at most {most} (--max-answers)"
            text = f"best_of is {self.best_of}; it must be {bounds}"
            raise InvalidRequestError(text, param="best_of")
        if drawn > returned and self.stream:
            raise InvalidRequestError(
                "best_of: answers cannot be streamed if best_of is larger than n", param="best_of"
            )
        prompts = len(self.prompts())
        if prompts * drawn > MAX_ANSWERS:
            text = (
                f"{drawn} answers to each of {prompts} prompts are more than the {MAX_ANSWERS} that one request "
                "may have"
            )
            raise InvalidRequestError(text, param=self.client_field("n"))
        return drawn

    @property
    def is_prompt_alone(self) -> bool:
        """Whether only the prompt is to be returned, without an answer."""
        return self.max_tokens == 0

    def sampling_params(self, defaults: Mapping[str, float] = NO_DEFAULTS) -> SamplingParams:
        """Build the sampling parameters. `max_tokens` defaults to 16, and `echo` extends `logprobs` to the prompt.

        The engine computes a prompt only to sample from it, so at least one token is sampled.

        Raises:
            InvalidRequestError: neither a prompt nor an answer is asked for.
        """
        if self.is_prompt_alone and not self.echo:
            raise InvalidRequestError("max_tokens: 0 needs echo to be true", param="max_tokens")
        given = DEFAULT_MAX_TOKENS if self.max_tokens is None else self.max_tokens
        fields = self.model_copy(update={"max_tokens": None if given == UNLIMITED else max(given, 1)})
        params = super(CompletionRequest, fields).sampling_params(defaults)
        # Answers are ranked by their log probabilities.
        needed = 0 if (self.best_of or 1) > (self.n or 1) else None
        logprobs = self.logprobs if self.logprobs is not None else needed
        return replace(params, logprobs=logprobs, prompt_logprobs=self.logprobs if self.echo else None)

    def client_field(self, engine_param: str) -> str:
        """Return the client's name of the field behind an engine parameter, for error messages.

        `logprobs` sets two of the engine's parameters, and `best_of` may set the number of answers instead of `n`.
        """
        if engine_param == "n" and self.best_of is not None:
            return "best_of"
        return "logprobs" if engine_param == "prompt_logprobs" else super().client_field(engine_param)
