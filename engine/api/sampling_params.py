"""Sampling parameters of one request. Plain data, without torch or a tokenizer."""

from dataclasses import dataclass
from typing import Literal

from engine.api.structured_output import StructuredOutput

Pooling = Literal["mean", "last"]
"""Way from the final hidden states of a prompt to one vector: the mean of all tokens', or the last token's."""


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
