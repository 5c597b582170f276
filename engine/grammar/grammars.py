"""Forms to masks: compiled in a thread, within limits, once."""

import asyncio
from collections import OrderedDict
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING

from engine.errors import InvalidRequestError
from engine.grammar.after_thought import AfterThought
from engine.grammar.form import AnswerForm
from engine.grammar.limits import check_form
from engine.sampling.token_mask import TokenMask
from engine.sampling_params import SamplingParams
from models.text_tokenizer import TextTokenizer
from models.thinking import Thinking

if TYPE_CHECKING:
    from llguidance import LLTokenizer

    from engine.grammar.automaton import Automaton, Position

COMPILE_SECONDS = 2.0
"""What no form within the limits comes near, unless the machine has other things to do."""

MAX_KEPT = 128
THREADS = 2


@dataclass(frozen=True, slots=True)
class _Compiled:
    automaton: "Automaton"
    start: "Position"


class Grammars:
    """Owner of the compiled forms and of the threads that work on them. The library is loaded with the first form.

    All but the threads' own work happens in one thread, the loop's where there is one.
    """

    def __init__(self, tokenizer: TextTokenizer, vocab_size: int, thinking: Thinking | None) -> None:
        self._tokenizer = tokenizer
        self._vocab_size = vocab_size
        self._thinking = thinking
        self._view: LLTokenizer | None = None
        self._compiler = ThreadPoolExecutor(1, thread_name_prefix="grammar")
        self._masks = ThreadPoolExecutor(THREADS, thread_name_prefix="mask")
        self._kept: OrderedDict[AnswerForm, _Compiled] = OrderedDict()
        bits = sum(1 << id_ for id_ in tokenizer.eos_token_ids)
        self._end_words = bits.to_bytes(max(tokenizer.eos_token_ids, default=0) // 32 * 4 + 4, "little")

    async def prepare(self, params: SamplingParams) -> None:
        """Compile what `mask` needs for them, beside the loop. Raises InvalidRequestError as `mask` does."""
        if params.form is None or params.form in self._kept:
            return
        self._check(params, params.form)
        loop = asyncio.get_running_loop()
        await loop.run_in_executor(self._compiler, self._load)
        compiling = loop.run_in_executor(self._compiler, self._compile, params.form)
        try:
            compiled = await asyncio.wait_for(compiling, COMPILE_SECONDS)
        except TimeoutError:
            raise InvalidRequestError("it takes too long to compile", param="form") from None
        self._keep(params.form, compiled)

    def mask(self, params: SamplingParams, prompt_ids: Sequence[int]) -> TokenMask | None:
        """A new one for one answer; None if it may have any form.

        Raises InvalidRequestError, whose param is "form", if that is none, or too much; whose param is the field if
        another wish contradicts it.
        """
        if params.form is None:
            return None
        self._check(params, params.form)
        if params.form not in self._kept:
            # What a former process left unfinished, and whoever has no loop.
            self._load()
            self._keep(params.form, self._compile(params.form))
        self._kept.move_to_end(params.form)
        compiled = self._kept[params.form]
        from engine.grammar.form_mask import FormMask

        mask = FormMask(compiled.automaton.copy(), compiled.start, self._masks, self._end_words)
        if self._thinking is None:
            return mask
        return AfterThought(mask, self._thinking, prompt_ids, vocab_size=self._vocab_size, end_words=self._end_words)

    def close(self) -> None:
        """End the threads."""
        self._compiler.shutdown(cancel_futures=True)
        self._masks.shutdown(cancel_futures=True)

    def _check(self, params: SamplingParams, form: AnswerForm) -> None:
        if not self._tokenizer.eos_token_ids:
            raise InvalidRequestError("this model has no token that ends an answer", param="form")
        for name in ("ignore_eos", "min_tokens", "allowed_token_ids"):
            if getattr(params, name):
                raise InvalidRequestError(f"{name}: the form alone says which tokens may come", param=name)
        check_form(form)

    def _load(self) -> None:
        if self._view is None:
            from engine.grammar.automaton import make_tokenizer

            self._view = make_tokenizer(self._tokenizer)

    def _compile(self, form: AnswerForm) -> _Compiled:
        from engine.grammar.automaton import Automaton

        assert self._view is not None
        automaton = Automaton.compile(form, self._view)
        # The first mask fills the library's own tables, which all copies share.
        start = automaton.advance([])
        if start.failure is not None:
            raise InvalidRequestError(start.failure, param="form")
        return _Compiled(automaton, start)

    def _keep(self, form: AnswerForm, compiled: _Compiled) -> None:
        self._kept[form] = compiled
        while len(self._kept) > MAX_KEPT:
            self._kept.popitem(last=False)
