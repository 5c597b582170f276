"""llguidance behind what the rest of Ebb needs of it: a tokenizer's view, a compiled form, where an answer is in it."""

import json
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

import llguidance
from llguidance import LLMatcher, LLParserLimits, LLTokenizer

from engine.errors import InvalidRequestError
from engine.grammar.endless import endless_reference
from engine.grammar.form import AnswerForm
from models.text_tokenizer import TextTokenizer

if TYPE_CHECKING:
    from llguidance._lib import JsonCompileOptions

COMPACT: "JsonCompileOptions" = {"whitespace_flexible": False, "item_separator": ",", "key_separator": ":"}

MAX_CPU_SECONDS = 0.25
"""Of one token's mask. Forms that cost more end their answers."""

NO_TEXT = "no text can follow here, so no answer can have this form. Look for a part that matches nothing"
TOO_COSTLY = ("too many expressions", "Too many items", "max is", "fuel", "too complex", "TooComplex")
"""Parts of the library's errors about its limits."""

LIMITS = LLParserLimits(
    step_lexer_fuel=100_000, step_max_items=10_000, max_lexer_states=50_000, max_grammar_size=100_000,
    verbose_errors=False,
)  # fmt: skip
LARK_LIMITS = LLParserLimits(
    max_items_in_row=200, step_lexer_fuel=100_000, step_max_items=2_000, max_lexer_states=50_000,
    max_grammar_size=20_000, verbose_errors=False,
)  # fmt: skip


class TokenView:
    """A tokenizer, as the library wants it. Control tokens have their names, and no text leads to them."""

    def __init__(self, tokenizer: TextTokenizer) -> None:
        names = {id_: name.encode() for name, id_ in tokenizer.control_tokens.items()}
        self.eos_token_id = tokenizer.eos_token_ids[0]
        self.bos_token_id = tokenizer.bos_token_id
        self.tokens = [names.get(id_) or tokenizer.token_bytes(id_) for id_ in range(tokenizer.vocab_size)]
        self.special_token_ids = sorted(names)
        self._tokenizer = tokenizer
        self._num_anchors = len(tokenizer.encode("\n", special=False))

    def __call__(self, text: str) -> list[int]:
        """The ids that text is written with, in the midst of others."""
        if not self._tokenizer.drops_first_space:
            return self._tokenizer.encode(text, special=False)
        # A text of its own would begin with a space; behind a line's end there is none.
        return self._tokenizer.encode("\n" + text, special=False)[self._num_anchors :]


def make_tokenizer(tokenizer: TextTokenizer) -> LLTokenizer:
    """Takes some tenths of a second."""
    view = llguidance.TokenizerWrapper(TokenView(tokenizer))
    return LLTokenizer(view, eos_token=list(tokenizer.eos_token_ids))


@dataclass(frozen=True, slots=True)
class Position:
    """Somewhere in an answer. words: as in `TokenMask.words`. forced: ids that must come next, one after the other.

    failure: why nothing may come but the end, in a sentence.
    """

    words: bytes
    forced: tuple[int, ...] = ()
    failure: str | None = None


class Automaton:
    """One answer's way through a form. One thread at a time."""

    def __init__(self, matcher: LLMatcher) -> None:
        self._matcher = matcher

    @classmethod
    def compile(cls, form: AnswerForm, tokenizer: LLTokenizer) -> "Automaton":
        """Raises InvalidRequestError, whose param is "form", with what the library says."""
        if form.kind == "json" and (ref := endless_reference(json.loads(form.text))) is not None:
            text = f"each value of {ref} contains another one, so none ever ends: make a property optional, or nullable"
            raise InvalidRequestError(text, param="form")
        try:
            grammar = _grammar(form)
        except ValueError as error:
            raise InvalidRequestError(str(error), param="form") from None
        limits = LARK_LIMITS if form.kind == "lark" else LIMITS
        matcher = LLMatcher(tokenizer, grammar, limits=limits, log_level=0)
        if matcher.is_error():
            raise InvalidRequestError(_in_words(matcher.get_error()), param="form")
        return cls(matcher)

    def copy(self) -> "Automaton":
        """Another one at the same place; microseconds."""
        return Automaton(self._matcher.deep_copy())

    def advance(self, token_ids: list[int]) -> Position:
        """Where the answer is behind these ids."""
        began = time.thread_time()
        self._matcher.consume_tokens(token_ids)
        words = self._matcher.compute_bitmask()
        forced = () if self._matcher.is_stopped() else tuple(self._matcher.compute_ff_tokens())
        # Not every tokenizer writes a text the same in all places.
        forced = forced[: self._matcher.validate_tokens(list(forced))] if forced else ()
        failure = _in_words(self._matcher.get_error()) if self._matcher.is_error() else None
        if failure is None and not any(words):
            failure = NO_TEXT
        if failure is None and time.thread_time() - began > MAX_CPU_SECONDS:
            failure = "it takes too long to find what may come next"
        return Position(words, forced, failure)


def _grammar(form: AnswerForm) -> str:
    match form.kind:
        case "json":
            return LLMatcher.grammar_from_json_schema(form.text, overrides=COMPACT)
        case "regex":
            return LLMatcher.grammar_from_regex(form.text)
        case "lark" | "calls":
            return LLMatcher.grammar_from_lark(form.text)


def _in_words(error: str) -> str:
    """Return what a person can do about an error of the library, or its first lines."""
    text = error.partition("<non-verbose/>")[0].strip()[:500]
    if text.startswith("NoExtension"):
        return NO_TEXT
    if any(words in text for words in TOO_COSTLY):
        return f"it costs too much to find what may come next. Simplify it, or bound its repetitions ({text})"
    return text
