"""Sampling parameters of one request, and their ranges. Plain data, without torch or a tokenizer."""

from dataclasses import dataclass
from typing import Literal

from engine.api.errors import InvalidRequestError
from engine.api.structured_output import StructuredOutput

MAX_STOP_STRINGS = 128
MAX_LOGPROBS = 20
MAX_TEMPERATURE = 1_000_000
"""Far above it, a division by the temperature as a float32 would fail. All tokens are as likely long before."""

Pooling = Literal["mean", "last", "first", "label"]
"""Way from the final hidden states of a prompt to one vector: the mean of all tokens', or the last token's. With an
encoder also the first token's, or the logit of the label above it.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class SamplingParams:
    """Sampling parameters. `engine.intake.processor` validates them, and resolves the fields described as resolved.

    Logits are changed in this order: `logit_bias`, `repetition_penalty`, `frequency_penalty`, `presence_penalty`,
    disallowed tokens, `temperature`, `top_k`, `top_p`, `min_p`.

    temperature: 0 means greedy (arg max, lowest id on ties); at most 2.
    top_p: nucleus mass in (0, 1].
    top_k: 0 means off.
    min_p: drops tokens with less than this share of the likeliest token's probability; 0 means off.
    repetition_penalty: 0.01 to 10; 1 means off. Divides positive logits of tokens in the prompt or the answer, and
        multiplies negative ones.
    presence_penalty: -2 to 2. Subtracted once from the logits of tokens in the answer.
    frequency_penalty: -2 to 2. Subtracted once per occurrence from the logits of tokens in the answer.
    logit_bias: (id, bias) with each id once; -100 to 100.
    allowed_token_ids: the only tokens allowed; empty means all.
    bad_words: strings that may not occur in the answer.
    bad_word_ids: their tokens, resolved.
    seed: 64 bits. None on arrival; always set once processed, so that a run can be continued at any token.
    choice: number of this answer among those to one request. With the seed and a token's position, it selects the
        random number with which that token is drawn.
    stop: at most 128 non-empty strings, never part of the text unless `include_stop_str_in_output` is set.
    stop_token_ids: ids that end the answer.
    eos_token_ids: the model's own ending ids, resolved; empty with `ignore_eos`.
    max_tokens: None on arrival means up to the end of the window. 0 computes the prompt alone: the request ends without
        a token, and other requests find the KV of its prompt.
    min_tokens: number of tokens before which no stop token is sampled and no stop string honoured.
    thinking_token_budget: tokens of reasoning after which its end is forced; None for no limit. Models that do not
        reason ignore it.
    reasoning_budget_message: text that is forced before that end.
    form: the form of the answer; None for any text.
    call_form: the form of calls among the text of an answer without `form`; None leaves calls to the model.
    call_openings: texts with which such calls begin, as `models.chat.tool_format.ToolFormat.openings`.
    skip_special_tokens: leave control tokens out of the text.
    is_read_for_calls: the text is parsed for tool calls, so marks that ordinary tokens spell are broken
        (`models.chat.quoted_marks`).
    logprobs: number of likeliest tokens to report with each token's log probability; None for no report.
    prompt_logprobs: the same for the prompt, whose KV is then recomputed and not kept for other requests.
    pooling: the request ends after its prompt, with an embedding pooled in this way instead of an answer. "auto" means
        the server's way, and is resolved. None for an answer.
    """

    temperature: float = 1.0
    top_p: float = 1.0
    top_k: int = 0
    min_p: float = 0.0
    repetition_penalty: float = 1.0
    presence_penalty: float = 0.0
    frequency_penalty: float = 0.0
    logit_bias: tuple[tuple[int, float], ...] = ()
    allowed_token_ids: tuple[int, ...] = ()
    bad_words: tuple[str, ...] = ()
    bad_word_ids: tuple[tuple[int, ...], ...] = ()
    seed: int | None = None
    choice: int = 0
    stop: tuple[str, ...] = ()
    stop_token_ids: tuple[int, ...] = ()
    eos_token_ids: tuple[int, ...] = ()
    include_stop_str_in_output: bool = False
    max_tokens: int | None = None
    min_tokens: int = 0
    ignore_eos: bool = False
    thinking_token_budget: int | None = None
    reasoning_budget_message: str = ""
    form: StructuredOutput | None = None
    call_form: StructuredOutput | None = None
    call_openings: tuple[str, ...] = ()
    skip_special_tokens: bool = True
    is_read_for_calls: bool = False
    logprobs: int | None = None
    prompt_logprobs: int | None = None
    pooling: Pooling | Literal["auto"] | None = None

    @property
    def ending_ids(self) -> tuple[int, ...]:
        """Ids of which each ends the answer."""
        return self.eos_token_ids + self.stop_token_ids

    @property
    def has_penalties(self) -> bool:
        """Whether the logits depend on the tokens so far."""
        return self.repetition_penalty != 1 or self.presence_penalty != 0 or self.frequency_penalty != 0

    @property
    def has_bad_phrases(self) -> bool:
        """Whether the allowed tokens depend on the tokens just before."""
        return any(len(words) > 1 for words in self.bad_word_ids)


def check_sampling(params: SamplingParams, vocab_size: int) -> None:
    """Raise InvalidRequestError if a parameter is out of range."""
    checks = (
        ("temperature", 0.0 <= params.temperature <= MAX_TEMPERATURE, f"must be between 0 and {MAX_TEMPERATURE}"),
        ("top_p", 0.0 < params.top_p <= 1.0, "must be above 0 and at most 1"),
        ("top_k", params.top_k >= 0, "must be 0 (off) or more"),
        ("min_p", 0.0 <= params.min_p <= 1.0, "must be between 0 and 1"),
        ("repetition_penalty", 0.01 <= params.repetition_penalty <= 10.0, "must be between 0.01 and 10"),
        ("presence_penalty", -2.0 <= params.presence_penalty <= 2.0, "must be between -2 and 2"),
        ("frequency_penalty", -2.0 <= params.frequency_penalty <= 2.0, "must be between -2 and 2"),
        ("logit_bias", all(-100 <= bias <= 100 for _, bias in params.logit_bias), "must be between -100 and 100"),
        ("logprobs", (params.logprobs or 0) in range(MAX_LOGPROBS + 1), f"must be between 0 and {MAX_LOGPROBS}"),
        (
            "prompt_logprobs",
            (params.prompt_logprobs or 0) in range(MAX_LOGPROBS + 1),
            f"must be between 0 and {MAX_LOGPROBS}",
        ),
        ("bad_words", all(params.bad_words), "must not contain an empty string"),
        ("seed", params.seed is None or -(2**63) <= params.seed < 2**64, "must be a 64-bit integer"),
        ("max_tokens", params.max_tokens is None or params.max_tokens >= 0, "must be 0 or more"),
        ("min_tokens", params.min_tokens >= 0, "must be 0 or more"),
        ("thinking_token_budget", (params.thinking_token_budget or 0) >= 0, "must be 0 or more"),
        ("stop", len(params.stop) <= MAX_STOP_STRINGS, f"must have at most {MAX_STOP_STRINGS} strings"),
        ("stop", all(params.stop), "must not contain an empty string"),
        *(
            (
                param,
                all(0 <= token_id < vocab_size for token_id in ids),
                f"contains a token id outside [0, {vocab_size})",
            )
            for param, ids in (
                ("logit_bias", tuple(token_id for token_id, _ in params.logit_bias)),
                ("allowed_token_ids", params.allowed_token_ids),
                ("stop_token_ids", params.stop_token_ids),
            )
        ),
    )
    for param, holds, rule in checks:
        if not holds:
            raise InvalidRequestError(f"{param} {rule}", param=param)


def check_something_may_come(params: SamplingParams) -> None:
    """Raise InvalidRequestError if the resolved parameters could leave a step without any token to sample."""
    barred = {words[0] for words in params.bad_word_ids if len(words) == 1}
    barred |= set(params.ending_ids) if params.min_tokens else set()
    if params.allowed_token_ids and barred.issuperset(params.allowed_token_ids):
        raise InvalidRequestError(
            "allowed_token_ids leaves no token, because bad_words or min_tokens exclude them all",
            param="allowed_token_ids",
        )
