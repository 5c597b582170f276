"""Conversion of answer forms to token masks, within limits."""

import json
import logging
from collections import OrderedDict
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TYPE_CHECKING

from engine.api.errors import InvalidRequestError, OverloadedError
from engine.api.outputs import FormVerdict
from engine.api.sampling_params import SamplingParams
from engine.api.structured_output import StructuredOutput
from engine.grammar.after_thought import AfterThought, Tracker
from engine.grammar.call_finder import CallFinder, Openings
from engine.grammar.call_mask import CallMask
from engine.grammar.compiled_forms import CompiledForm, CompiledForms
from engine.grammar.embedded import CHECKED_RULE, OPTIONS, embedded
from engine.grammar.enforceable import enforceable
from engine.grammar.grammar_mask import GrammarMask, MaskThreads
from engine.grammar.limits import check_form
from engine.grammar.verdict import verdict
from engine.sampling.token_mask import TokenMask
from engine.text.answer_text import AnswerFormat
from models.chat.harmony_thinking import HarmonyThinking, HarmonyThoughts
from models.chat.written_thinking import WrittenThinking, WrittenThoughts
from models.thinking import MarkedThinking, Thinking, Thoughts
from models.tokenizers.text_tokenizer import TextTokenizer

if TYPE_CHECKING:
    from llguidance import LLTokenizer

THREADS = 2
SLOW_THREADS = 1
MAX_REFUSED = 128
"""Maximum number of forms of calls that are remembered because they cannot be enforced."""

logger = logging.getLogger(__name__)


class Grammars:
    """Owner of the tokenizer's representation in llguidance and of the threads that compute masks.

    Everything but the threads' own work happens on one thread: that of the event loop, if there is one.
    """

    def __init__(
        self,
        tokenizer: TextTokenizer,
        vocab_size: int,
        thinking: Thinking | None,
        answers: AnswerFormat | None = None,
    ) -> None:
        """Make masks for a model. answers: how its answers are read for calls; None if they are not."""
        self._tokenizer = tokenizer
        self._answers = answers
        self._refused_calls = OrderedDict[tuple[str, StructuredOutput], bool]()
        self._vocab_size = vocab_size
        self._thinking = thinking
        self._view: LLTokenizer | None = None
        self._forms = CompiledForms(self._compile)
        self._masks = MaskThreads(
            ThreadPoolExecutor(THREADS, thread_name_prefix="mask"),
            ThreadPoolExecutor(SLOW_THREADS, thread_name_prefix="slow-mask"),
        )
        bits = sum(1 << id_ for id_ in tokenizer.eos_token_ids)
        self._end_words = bits.to_bytes(max(tokenizer.eos_token_ids, default=0) // 32 * 4 + 4, "little")

    def load(self) -> None:
        """Import the library and convert the tokenizer, unless that has been done or the model has no EOS token.

        The library holds the GIL for tenths of a second. A server therefore calls this before it accepts requests. An
        engine without an event loop leaves it to the first form.
        """
        if self._view is None and self._tokenizer.eos_token_ids:
            from engine.grammar.automaton import make_tokenizer

            self._view = make_tokenizer(self._tokenizer)

    async def prepare(self, params: SamplingParams, tenant: str) -> None:
        """Compile the form that `mask` needs for a request of `tenant`, on another thread.

        Raise InvalidRequestError as `mask` does, and for a form that takes too long. Raise OverloadedError if such
        forms occupy all places, or all that the tenant may have.
        """
        if params.form is None:
            if params.call_form is not None:
                await self._prepare_calls(params, params.call_form, tenant)
            return
        if self._forms.has(params.form, tenant):
            return
        self._check(params, params.form, tenant)
        self.load()
        await self._forms.prepare(params.form, tenant)

    def mask(self, params: SamplingParams, prompt_ids: Sequence[int], tenant: str) -> TokenMask | None:
        """Create the mask of one answer of `tenant`; None if it may have any form.

        Raise InvalidRequestError for "form" if the form is invalid or beyond the limits, and for another field if that
        field contradicts the form.
        """
        if params.form is None:
            return self._call_mask(params, prompt_ids, tenant)
        self._check(params, params.form, tenant)
        self.load()
        # Compiles here only for callers without an event loop.
        compiled = self._forms.get(params.form, tenant)
        mask = GrammarMask(compiled, self._masks, self._end_words)
        match self._thinking:
            case MarkedThinking() as marked:
                return self._after(mask, Thoughts(marked, prompt_ids), marked.start_id)
            case HarmonyThinking() as harmony if params.form.kind != "calls":
                return self._after(mask, HarmonyThoughts(harmony, prompt_ids))
            case WrittenThinking() as written if written.opens(prompt_ids):
                return self._after(mask, WrittenThoughts(written, prompt_ids))
        return mask

    async def _prepare_calls(self, params: SamplingParams, form: StructuredOutput, tenant: str) -> None:
        """Compile the form of calls that the answer may contain. If that fails, calls are left to the model.

        A form is tried again if the machine was to blame.
        """
        if self._refused_calls.get((tenant, form)) or not self._may_form_calls(params):
            return
        try:
            self._check_limits(form, tenant)
            self.load()
            await self._forms.prepare(form, tenant)
            self._refused_calls.pop((tenant, form), None)
        except (InvalidRequestError, OverloadedError) as error:
            logger.debug("calls are left to the model: %s", error)
            self._refuse_calls(tenant, form, is_at_fault=isinstance(error, InvalidRequestError))

    def _call_mask(self, params: SamplingParams, prompt_ids: Sequence[int], tenant: str) -> TokenMask | None:
        """Create the mask of an answer that may contain calls; None if nothing restricts them."""
        form, answers = params.call_form, self._answers
        if form is None or answers is None or (tenant, form) in self._refused_calls or not self._may_form_calls(params):
            return None
        try:
            self._check_limits(form, tenant)
            self.load()
            compiled = self._forms.get(form, tenant)
        except InvalidRequestError:
            self._refuse_calls(tenant, form, is_at_fault=True)
            return None
        reader = answers.begin(prompt_ids, breaks_marks=params.is_read_for_calls, stop=params.stop)
        finder = CallFinder(reader, Openings.of(params.call_openings, answers), self._encode_behind)
        return CallMask(finder, lambda: GrammarMask(compiled, self._masks, self._end_words, is_part=True))

    def _may_form_calls(self, params: SamplingParams) -> bool:
        """Return whether no other parameter could leave a call without any token."""
        return bool(self._tokenizer.eos_token_ids) and not (params.allowed_token_ids or params.bad_words)

    def _refuse_calls(self, tenant: str, form: StructuredOutput, *, is_at_fault: bool) -> None:
        self._refused_calls[tenant, form] = is_at_fault
        while len(self._refused_calls) > MAX_REFUSED:
            self._refused_calls.popitem(last=False)

    def _encode_behind(self, text: str) -> list[int]:
        """Encode text that continues other text, with control tokens by name."""
        before = len(self._tokenizer.encode("\n", special=True)) if self._tokenizer.drops_first_space else 0
        return self._tokenizer.encode("\n" * bool(before) + text, special=True)[before:]

    def _after(self, mask: TokenMask, thoughts: Tracker, start_id: int | None = None) -> AfterThought:
        return AfterThought(mask, thoughts, start_id=start_id, vocab_size=self._vocab_size, end_words=self._end_words)

    def close(self) -> None:
        """Stop the threads."""
        for threads in (self._masks.quick, self._masks.slow):
            threads.shutdown(cancel_futures=True)

    def _check(self, params: SamplingParams, form: StructuredOutput, tenant: str) -> None:
        if not self._tokenizer.eos_token_ids:
            raise InvalidRequestError(
                "this model has no token that ends an answer, so no form can be enforced", param="form"
            )
        for name in ("ignore_eos", "min_tokens", "allowed_token_ids"):
            if getattr(params, name):
                raise InvalidRequestError(
                    f"{name} cannot be combined with a form, which alone decides the allowed tokens", param=name
                )
        self._check_limits(form, tenant)

    def _check_limits(self, form: StructuredOutput, tenant: str) -> None:
        # A compiled form has passed this check.
        if not self._forms.has(form, tenant):
            check_form(form)

    def _compile(self, form: StructuredOutput) -> CompiledForm:
        from engine.grammar.automaton import Automaton

        assert self._view is not None
        automaton = Automaton.compile(form, self._view)
        # The first mask fills the library's own tables, which all copies share.
        start = automaton.advance([])
        if start.failure is not None:
            raise InvalidRequestError(start.failure, param="form")
        return CompiledForm(automaton, start, _check_of(form))


def _check_of(form: StructuredOutput) -> Callable[[str], FormVerdict | None] | None:
    """Return the check of complete answers with `form`; None if masks enforce all of it."""
    schema: object = None
    if form.kind == "json":
        schema = json.loads(form.text)
    elif form.kind == "calls":
        before = ""
        for piece in embedded(form.text):
            if isinstance(piece, str):
                before = piece
            elif before.endswith(f"\n{CHECKED_RULE}: "):
                schema = piece.schema
    if not (left_out := enforceable(schema).left_out) or left_out == (OPTIONS,):
        return None
    return partial(verdict, schema, may_be_call=form.kind == "calls")
