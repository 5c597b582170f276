"""Results of offline use, with the names that vLLM's `RequestOutput` and `CompletionOutput` have."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from engine.api.outputs import FinishReason, RequestOutput, TokenLogprobs, Usage
from engine.api.sampling_params import SamplingParams


@dataclass(frozen=True, slots=True)
class Logprob:
    """Natural log probability of a token under the model, whatever the sampling parameters.

    rank: 1 for the likeliest token; None for a token that is not among the reported likeliest ones.
    decoded_token: the token's text. A part of a character is U+FFFD.
    """

    logprob: float
    rank: int | None
    decoded_token: str


Logprobs = Mapping[int, Logprob]
"""Log probabilities at one position, by token id: of the token itself, and of the likeliest ones."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CompletionOutput:
    """One answer to a prompt.

    index: number of the answer among those to its prompt.
    reasoning: thoughts of a model that thinks, which are not part of `text`.
    cumulative_logprob: sum of the tokens' log probabilities; None unless log probabilities were asked for.
    logprobs: one entry for each token; None unless they were asked for.
    stop_reason: the stop string or the id of the stop token that ended the answer; None if neither did.
    usage: token counts and the receipt of this answer.
    """

    index: int
    text: str
    token_ids: tuple[int, ...]
    finish_reason: FinishReason
    usage: Usage
    reasoning: str = ""
    cumulative_logprob: float | None = None
    logprobs: tuple[Logprobs, ...] | None = None
    stop_reason: str | int | None = None


@dataclass(frozen=True, slots=True)
class PromptOutput:
    """The answers to one prompt, which is a text or None if it was given as token ids or messages.

    prompt_logprobs: one entry for each token of the prompt; None for the first, and unless they were asked for.
    """

    prompt: str | None
    prompt_token_ids: tuple[int, ...]
    outputs: tuple[CompletionOutput, ...]
    prompt_logprobs: tuple[Logprobs | None, ...] | None = None

    @property
    def num_cached_tokens(self) -> int:
        """Number of the prompt's tokens that were not computed, as their KV was found."""
        return self.outputs[0].usage.kv.cached


def completion_of(
    index: int, whole: RequestOutput, params: SamplingParams, describe: Callable[[Sequence[int]], str]
) -> CompletionOutput:
    """Convert a whole answer that did not fail. describe: returns the text of tokens, control tokens by name."""
    assert whole.finish_reason is not None
    assert whole.usage is not None
    has_logprobs = params.logprobs is not None
    return CompletionOutput(
        index=index,
        text=whole.text,
        token_ids=tuple(whole.token_ids),
        finish_reason=whole.finish_reason,
        usage=whole.usage,
        reasoning=whole.reasoning,
        cumulative_logprob=sum(each.logprob for each in whole.logprobs) if has_logprobs else None,
        logprobs=tuple(logprobs_of(each, describe) for each in whole.logprobs) if has_logprobs else None,
        stop_reason=_stop_reason(whole, params),
    )


def logprobs_of(token: TokenLogprobs, describe: Callable[[Sequence[int]], str]) -> Logprobs:
    """Convert the log probabilities at one position."""
    ranks = {id_: rank for rank, (id_, _) in enumerate(token.top, 1)}
    values = {token.token_id: token.logprob} | dict(token.top)
    return {id_: Logprob(value, ranks.get(id_), describe([id_])) for id_, value in values.items()}


def _stop_reason(whole: RequestOutput, params: SamplingParams) -> str | int | None:
    if whole.stop_string is not None or whole.finish_reason != "stop" or not whole.token_ids:
        return whole.stop_string
    last = whole.token_ids[-1]
    return last if last in params.stop_token_ids else None
