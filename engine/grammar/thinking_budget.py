"""End of reasoning by force, once it has taken as many tokens as the request allows."""

from collections.abc import Callable, Sequence
from typing import Final, Protocol

from engine.api.outputs import FormVerdict
from engine.api.sampling_params import SamplingParams
from engine.sampling.token_mask import TokenMask
from engine.text.answer_text import AnswerFormat, AnswerText

MakeMask = Callable[[SamplingParams, Sequence[int], str], TokenMask | None]
"""Creates the mask of an answer from its parameters, its prompt and its tenant; None for no mask."""

MOST_LEFT: Final = 3
"""Tokens that may complete a character. Bytes that are no text may leave one incomplete for longer."""


class Encode(Protocol):
    """Encoding of a text without control tokens."""

    def __call__(self, text: str, *, special: bool) -> list[int]:
        """Encode `text`."""


class ThinkingBudget:
    """TokenMask that ends reasoning beyond `budget` tokens, and is asleep until then and afterwards.

    The state depends on the tokens of the answer alone, so the answer can be continued from any of them.
    """

    def __init__(
        self, answer: AnswerText, budget: int, endings: Sequence[Sequence[int]], mask: TokenMask | None
    ) -> None:
        """Limit the reasoning of an answer.

        answer: reader of the answer, which counts the tokens of its reasoning.
        endings: tokens that end the reasoning, for the first time and for every later one; the last of them repeats.
        mask: restricts the tokens that the budget leaves free; None if nothing does.
        """
        self._answer = answer
        self._budget = budget
        self._endings = list(endings)
        self._mask = mask
        self._due = list[int]()
        self._end_if_used_up()

    @property
    def is_asleep(self) -> bool:
        """See TokenMask."""
        return not self._due and (self._mask is None or self._mask.is_asleep)

    def accept(self, token_id: int) -> None:
        """See TokenMask."""
        if self._mask is not None:
            self._mask.accept(token_id)
        self._answer.push(token_id)
        if self._due:
            self._due.pop(0)
        if not self._due:
            self._end_if_used_up()

    def begin(self) -> None:
        """See TokenMask."""
        if self._mask is not None and not self._due:
            self._mask.begin()

    def words(self) -> bytes:
        """See TokenMask."""
        if not self._due:
            assert self._mask is not None, "nothing restricts the next token"
            return self._mask.words()
        return (1 << self._due[0]).to_bytes(self._due[0] // 32 * 4 + 4, "little")

    def forced(self) -> Sequence[int]:
        """See TokenMask."""
        if self._due or self._mask is None:
            return tuple(self._due)
        return self._mask.forced()

    def verdict(self, text: str) -> FormVerdict | None:
        """See TokenMask."""
        return self._mask.verdict(text) if self._mask is not None else None

    @property
    def is_ready(self) -> bool:
        """See TokenMask."""
        return bool(self._due) or self._mask is None or self._mask.is_ready

    @property
    def failure(self) -> str | None:
        """See TokenMask."""
        return self._mask.failure if self._mask is not None else None

    def _end_if_used_up(self) -> None:
        """Demand the tokens that end the reasoning, unless a character is incomplete."""
        answer = self._answer
        over = answer.num_thought - self._budget
        if answer.is_thinking and over >= 0 and (answer.is_between_characters or over >= MOST_LEFT):
            self._due = list(self._endings[0])
            self._endings = self._endings[1:] or self._endings


def with_budgets(make_mask: MakeMask, answers: AnswerFormat, encode: Encode) -> MakeMask:
    """Return a function that makes the mask of an answer with its thinking budget around that of `make_mask`."""
    thinking = answers.thinking

    def make(sampling: SamplingParams, prompt_ids: Sequence[int], tenant: str) -> TokenMask | None:
        mask = make_mask(sampling, prompt_ids, tenant)
        if thinking is None or sampling.thinking_token_budget is None:
            return mask
        is_call = sampling.form is not None and sampling.form.kind == "calls"
        message = encode(sampling.reasoning_budget_message, special=False) if sampling.reasoning_budget_message else []
        endings = [[*message, *thinking.cutting_ids(may_call=is_call or sampling.is_read_for_calls)]]
        if not is_call:
            endings.append(list(thinking.cutting_ids(may_call=False)))
        answer = answers.begin(prompt_ids, may_call=sampling.form is None, breaks_marks=sampling.is_read_for_calls)
        return ThinkingBudget(answer, sampling.thinking_token_budget, endings, mask)

    return make
