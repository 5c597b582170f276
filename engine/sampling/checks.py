"""Validation of SamplingParams from any source. Each refusal names the field."""

from engine.api.errors import InvalidRequestError
from engine.api.sampling_params import SamplingParams

MAX_STOP_STRINGS = 128
MAX_LOGPROBS = 20
MAX_TEMPERATURE = 1_000_000
"""Far above it, a division by the temperature as a float32 would fail. All tokens are as likely long before."""


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
