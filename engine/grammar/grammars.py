"""Forms to masks, within limits."""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

from engine.errors import InvalidRequestError
from engine.grammar.after_thought import AfterThought
from engine.grammar.compiled_forms import CompiledForm, CompiledForms
from engine.grammar.form import AnswerForm
from engine.grammar.form_mask import FormMask, MaskThreads
from engine.grammar.limits import check_form
from engine.sampling.token_mask import TokenMask
from engine.sampling_params import SamplingParams
from models.text_tokenizer import TextTokenizer
from models.thinking import Thinking

if TYPE_CHECKING:
    from llguidance import LLTokenizer

THREADS = 2
SLOW_THREADS = 1


class Grammars:
    """Owner of the library's view of the tokenizer and of the threads that find masks.

    All but the threads' own work happens in one thread, the loop's where there is one.
    """

    def __init__(self, tokenizer: TextTokenizer, vocab_size: int, thinking: Thinking | None) -> None:
        self._tokenizer = tokenizer
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
        """Import the library and show it the tokenizer, unless that was done, or no answer can have a form.

        The library holds the interpreter for tenths of a second then: where there is a loop this comes before anybody
        waits for it. What has no loop leaves it to the first form.
        """
        if self._view is None and self._tokenizer.eos_token_ids:
            from engine.grammar.automaton import make_tokenizer

            self._view = make_tokenizer(self._tokenizer)

    async def prepare(self, params: SamplingParams, tenant: str) -> None:
        """Compile what `mask` needs for a request of `tenant`, in another thread.

        Raises InvalidRequestError as `mask` does, and for what takes too long; OverloadedError if such forms took all
        places, or all that the tenant may have.
        """
        if params.form is None or params.form in self._forms:
            return
        self._check(params, params.form)
        self.load()
        await self._forms.prepare(params.form, tenant)

    def mask(self, params: SamplingParams, prompt_ids: Sequence[int]) -> TokenMask | None:
        """A new one for one answer; None if it may have any form.

        Raises InvalidRequestError, whose param is "form", if that is none, or too much; whose param is the field if
        another wish contradicts it.
        """
        if params.form is None:
            return None
        self._check(params, params.form)
        self.load()
        # Compiled here for what a former process left unfinished, and for whoever has no loop.
        compiled = self._forms.get(params.form)
        mask = FormMask(compiled.automaton.copy(), compiled.start, self._masks, self._end_words)
        if self._thinking is None:
            return mask
        return AfterThought(mask, self._thinking, prompt_ids, vocab_size=self._vocab_size, end_words=self._end_words)

    def close(self) -> None:
        """End the threads."""
        for threads in (self._masks.quick, self._masks.slow):
            threads.shutdown(cancel_futures=True)

    def _check(self, params: SamplingParams, form: AnswerForm) -> None:
        if not self._tokenizer.eos_token_ids:
            raise InvalidRequestError("this model has no token that ends an answer", param="form")
        for name in ("ignore_eos", "min_tokens", "allowed_token_ids"):
            if getattr(params, name):
                raise InvalidRequestError(f"{name}: the form alone says which tokens may come", param=name)
        # What was compiled was within them.
        if form not in self._forms:
            check_form(form)

    def _compile(self, form: AnswerForm) -> CompiledForm:
        from engine.grammar.automaton import Automaton

        assert self._view is not None
        automaton = Automaton.compile(form, self._view)
        # The first mask fills the library's own tables, which all copies share.
        start = automaton.advance([])
        if start.failure is not None:
            raise InvalidRequestError(start.failure, param="form")
        return CompiledForm(automaton, start)
