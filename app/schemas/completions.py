"""POST /v1/completions."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated, Any, ClassVar

from pydantic import Discriminator, Field, Tag

from app.limits import MAX_PROMPTS
from app.schemas.parsing import told
from app.schemas.sampling import NO_DEFAULTS, OpenAIRequest, TokenId, TopLogprobs
from engine.errors import InvalidRequestError
from engine.sampling_params import SamplingParams

DEFAULT_MAX_TOKENS = 16


def _prompt_kind(value: object) -> str:
    if not isinstance(value, list):
        return "<text>"
    first = value[0] if value else 0
    if isinstance(first, list):
        return "<id lists>"
    return "<texts>" if isinstance(first, str) else "<ids>"


PromptIds = Annotated[list[TokenId], Field(min_length=1)]
Prompt = Annotated[
    Annotated[str, Tag("<text>")]
    | Annotated[list[str], Field(min_length=1, max_length=MAX_PROMPTS), Tag("<texts>")]
    | Annotated[list[TokenId], Field(min_length=1), Tag("<ids>")]
    | Annotated[list[PromptIds], Field(max_length=MAX_PROMPTS), Tag("<id lists>")],
    Discriminator(_prompt_kind),
]


class CompletionRequest(OpenAIRequest):
    """The request of OpenAI's older API: text or token ids to be continued, or several of them."""

    neutral: ClassVar[Mapping[str, tuple[Any, ...]]] = {
        **OpenAIRequest.neutral,
        "suffix": ("",),
        "best_of": (1,),
    }

    prompt: Annotated[Prompt, Field(description="a text, token ids, or a list of several of either; each has a choice")]
    max_tokens: Annotated[int, Field(ge=0, le=1 << 31)] | None = told(
        "of the answer; left out: 16; 0, with `echo`: the prompt alone"
    )
    echo: bool | None = told("the text begins with the prompt")
    logprobs: TopLogprobs | None = told(
        "log probabilities of the model itself, with so many of the likeliest tokens; with `echo` also the "
        "prompt's, which is then computed anew and kept for nobody"
    )

    def prompts(self) -> list[str | list[int]]:
        """Each as text or token ids."""
        given: Any = self.prompt
        return list(given) if isinstance(given, list) and not isinstance(given[0], int) else [given]

    @property
    def is_prompt_alone(self) -> bool:
        """Whether nothing is to be answered."""
        return self.max_tokens == 0

    def sampling_params(self, defaults: Mapping[str, float] = NO_DEFAULTS) -> SamplingParams:
        """As SamplingFields, with this API's own default of 16 tokens. With `echo` logprobs are the prompt's too. A
        token has to be drawn for a prompt to be computed.

        Raises:
            InvalidRequestError: neither a prompt nor an answer is wanted.
        """
        if self.is_prompt_alone and not self.echo:
            raise InvalidRequestError("max_tokens: 0 needs echo to be true", param="max_tokens")
        limit = DEFAULT_MAX_TOKENS if self.max_tokens is None else max(self.max_tokens, 1)
        fields = self.model_copy(update={"max_tokens": limit})
        params = super(CompletionRequest, fields).sampling_params(defaults)
        return replace(params, logprobs=self.logprobs, prompt_logprobs=self.logprobs if self.echo else None)

    def client_field(self, engine_param: str) -> str:
        """The engine has two fields for this API's one."""
        return "logprobs" if engine_param == "prompt_logprobs" else super().client_field(engine_param)
