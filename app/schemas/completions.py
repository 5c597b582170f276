"""POST /v1/completions."""

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar

from pydantic import Discriminator, Field, Tag

from app.schemas.sampling import NO_DEFAULTS, OpenAIRequest, TokenId
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


Prompt = Annotated[
    Annotated[str, Tag("<text>")]
    | Annotated[list[str], Tag("<texts>")]
    | Annotated[list[TokenId], Field(min_length=1), Tag("<ids>")]
    | Annotated[list[Annotated[list[TokenId], Field(min_length=1)]], Tag("<id lists>")],
    Discriminator(_prompt_kind),
]


class CompletionRequest(OpenAIRequest):
    """The request of OpenAI's older API: the prompt is text, or token ids, of one completion."""

    neutral: ClassVar[Mapping[str, tuple[Any, ...]]] = {
        **OpenAIRequest.neutral,
        "echo": (False,),
        "suffix": ("",),
        "logprobs": (),
        "best_of": (1,),
    }

    prompt: Prompt

    def single_prompt(self) -> str | list[int]:
        """The one prompt, as text or token ids.

        Raises:
            InvalidRequestError: the list holds several prompts.
        """
        prompts = self.prompt
        if isinstance(prompts, str):
            return prompts
        ids = [part for part in prompts if isinstance(part, int)]
        if ids:
            return ids
        if len(prompts) > 1:
            raise InvalidRequestError("Several prompts in one request are not supported yet", param="prompt")
        only = prompts[0]
        assert not isinstance(only, int)
        return only

    def sampling_params(self, defaults: Mapping[str, float] = NO_DEFAULTS) -> SamplingParams:
        """As SamplingFields, with this API's own default of 16 tokens."""
        if self.max_tokens is not None:
            return super().sampling_params(defaults)
        return self.model_copy(update={"max_tokens": DEFAULT_MAX_TOKENS}).sampling_params(defaults)
