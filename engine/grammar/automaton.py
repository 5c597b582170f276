"""Adapter for llguidance: a tokenizer in its terms, a compiled form, and an answer's position in it."""

import json
import re
import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import llguidance
from llguidance import LLMatcher, LLParserLimits, LLTokenizer

from engine.api.errors import InvalidRequestError
from engine.api.structured_output import FormKind, StructuredOutput
from engine.grammar.call_rules import tool_at
from engine.grammar.embedded import embedded
from engine.grammar.endless import endless_reference
from engine.grammar.enforceable import enforceable
from models.tokenizers.text_tokenizer import TextTokenizer

if TYPE_CHECKING:
    from llguidance._lib import JsonCompileOptions

COMPACT: "JsonCompileOptions" = {"whitespace_flexible": False, "item_separator": ",", "key_separator": ":"}

MAX_CPU_SECONDS = 0.25
"""CPU time for one token's mask. A form that exceeds it ends its answer with an error."""

NO_TEXT = "no text is allowed from here on, so no answer can have this form. Look for a part that matches nothing."
TOO_COSTLY = ("too many expressions", "Too many items", "max is", "fuel", "too complex", "TooComplex")
"""Fragments of the library's error messages about its limits."""

_IN_SCHEMA = re.compile(r"at (\d+)\(\d+\): failed to compile JSON schema: ([^\n]{1,500})")

LIMITS = LLParserLimits(
    step_lexer_fuel=100_000, step_max_items=10_000, max_lexer_states=50_000, max_grammar_size=100_000,
    verbose_errors=False,
)  # fmt: skip
LARK_LIMITS = LLParserLimits(
    max_items_in_row=200, step_lexer_fuel=100_000, step_max_items=2_000, max_lexer_states=50_000,
    max_grammar_size=20_000, verbose_errors=False,
)  # fmt: skip


class TokenView:
    """A tokenizer in llguidance's terms. Control tokens have names, and no text produces them."""

    def __init__(self, tokenizer: TextTokenizer) -> None:
        names = {id_: name.encode() for name, id_ in tokenizer.control_tokens.items()}
        self.eos_token_id = tokenizer.eos_token_ids[0]
        self.bos_token_id = tokenizer.bos_token_id
        self.tokens = [names.get(id_) or tokenizer.token_bytes(id_) for id_ in range(tokenizer.vocab_size)]
        self.special_token_ids = sorted(names)
        self._tokenizer = tokenizer
        self._num_anchors = len(tokenizer.encode("\n", special=False))

    def __call__(self, text: str) -> list[int]:
        """Encode text that continues other text."""
        if not self._tokenizer.drops_first_space:
            return self._tokenizer.encode(text, special=False)
        # Alone, the text would get a leading space token. After a line end it does not.
        return self._tokenizer.encode("\n" + text, special=False)[self._num_anchors :]


def make_tokenizer(tokenizer: TextTokenizer) -> LLTokenizer:
    """Convert the tokenizer. This takes some tenths of a second."""
    view = llguidance.TokenizerWrapper(TokenView(tokenizer))
    return LLTokenizer(view, eos_token=list(tokenizer.eos_token_ids))


@dataclass(frozen=True, slots=True)
class Position:
    """A position in an answer.

    words: see `TokenMask.words`.
    forced: ids that must come next, in order.
    failure: reason why the answer can only end, in a sentence; None while it can continue.
    unread: tokens behind the end of a form that is a part of the answer, or behind the one that it refused; None within
        the form.
    """

    words: bytes
    forced: tuple[int, ...] = ()
    failure: str | None = None
    unread: int | None = None


class Automaton:
    """Progress of one answer through a form. Used by one thread at a time."""

    def __init__(self, matcher: LLMatcher) -> None:
        self._matcher = matcher

    @classmethod
    def compile(cls, form: StructuredOutput, tokenizer: LLTokenizer) -> "Automaton":
        """Compile a form. Raise InvalidRequestError for "form" with the library's message."""
        text = _in_enforced_words(form)
        if form.kind == "json" and (ref := endless_reference(json.loads(text))) is not None:
            why = f"each value of {ref} contains another one, so none can end. Make a property optional or nullable."
            raise InvalidRequestError(why, param="form")
        try:
            grammar = _grammar(form.kind, text)
        except ValueError as error:
            raise InvalidRequestError(str(error), param="form") from None
        limits = LARK_LIMITS if form.kind == "lark" else LIMITS
        matcher = LLMatcher(tokenizer, grammar, limits=limits, log_level=0)
        if matcher.is_error():
            fault = matcher.get_error()
            of_tool = _of_arguments(fault, text) if form.kind == "calls" else None
            raise InvalidRequestError(of_tool or _in_words(fault), param="form")
        return cls(matcher)

    def copy(self) -> "Automaton":
        """Return an independent copy at the same position, which takes microseconds."""
        return Automaton(self._matcher.deep_copy())

    def advance_to_end(self, token_ids: list[int]) -> Position:
        """Consume `token_ids` up to the first one that can end the form, and return the new position."""
        for index, token_id in enumerate(token_ids, 1):
            if not self._matcher.consume_token(token_id) or self._matcher.is_accepting():
                return Position(b"", unread=len(token_ids) - index)
        position = self.advance([])
        return position if position.failure is None else replace(position, unread=0)

    def advance(self, token_ids: list[int]) -> Position:
        """Consume `token_ids` and return the new position."""
        began = time.thread_time()
        self._matcher.consume_tokens(token_ids)
        words = self._matcher.compute_bitmask()
        forced = () if self._matcher.is_stopped() else tuple(self._matcher.compute_ff_tokens())
        # Some tokenizers encode a text differently depending on its context, so only a valid prefix is forced.
        forced = forced[: self._matcher.validate_tokens(list(forced))] if forced else ()
        failure = _in_words(self._matcher.get_error()) if self._matcher.is_error() else None
        if failure is None and not any(words):
            failure = NO_TEXT
        if failure is None and time.thread_time() - began > MAX_CPU_SECONDS:
            failure = "computing the allowed tokens took too long"
        return Position(words, forced, failure)


def _in_enforced_words(form: StructuredOutput) -> str:
    """Return the text of a form with its schemas rewritten."""
    match form.kind:
        case "json":
            return json.dumps(enforceable(json.loads(form.text)).schema, ensure_ascii=False)
        case "calls" | "lark":
            return "".join(
                piece if isinstance(piece, str) else f"%json {json.dumps(piece.enforced, ensure_ascii=False)}"
                for piece in embedded(form.text)
            )
    return form.text


def _grammar(kind: FormKind, text: str) -> str:
    match kind:
        case "json":
            return LLMatcher.grammar_from_json_schema(text, overrides=COMPACT)
        case "regex":
            return LLMatcher.grammar_from_regex(text)
        case "lark" | "calls":
            return LLMatcher.grammar_from_lark(text)


def _of_arguments(error: str, grammar: str) -> str | None:
    """Name the tool of an error about its schema, in place of the line of the grammar; None for other errors."""
    found = _IN_SCHEMA.match(error)
    tool = tool_at(grammar, int(found[1])) if found is not None else None
    return None if found is None or tool is None else f"the arguments of {tool}: {found[2]}"


def _in_words(error: str) -> str:
    """Turn an error of the library into advice for users, or return its beginning."""
    text = error.partition("<non-verbose/>")[0].strip()[:500]
    if text.startswith("NoExtension"):
        return NO_TEXT
    if any(words in text for words in TOO_COSTLY):
        return f"the form is too costly to check. Simplify it, or bound its repetitions ({text})"
    return text
