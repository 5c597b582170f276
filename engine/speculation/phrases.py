"""Phrases of earlier answers: the tokens that each tenant's answers generated, indexed by their runs.

A bounded form of the suffix store of Oliaro et al., "SuffixDecoding" (arXiv 2411.04975): a table of runs of three
lengths in place of a tree, so that its size is fixed and a token costs the same however much is known.
"""

from array import array
from bisect import bisect_right
from collections import OrderedDict, deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final

from cache_tiers.owners.block_key import BlockKey, block_key
from engine.request.request import Request

MAX_TOKENS: Final = 1 << 16
"""Tokens that are known of one tenant. Newer ones replace the oldest."""
MAX_TENANTS: Final = 32
"""Tenants whose phrases are known. Beyond that, those of the one that asked least recently are forgotten."""
RUNS: Final = (8, 5, 3)
"""Lengths of the runs by which a phrase is found, the longest first."""
FIRST_CHANCE: Final = 0.2
"""Initial estimate of the probability that a phrase goes on as it did."""
MAX_INDEXED: Final = 256
"""Tokens of earlier answers that are indexed at a time."""
_PLACES: Final = 1 << 18
"""Places of the table: more than one for each run."""
_LOW_BITS: Final = (1 << 32) - 1
TENANT_BYTES: Final = 4 * (MAX_TOKENS + _PLACES)
"""Memory for the tokens of a tenant and their table."""
_NEWEST: Final = 0.0625
_GAP: Final = -1
"""Stands between two answers, and for what was erased. No phrase crosses it."""
_LENGTHS: Final = (4, 6, 9, 16, 32)
"""Matched tokens at which the estimate of the chance changes: the longer the match, the likelier its continuation."""


@dataclass(frozen=True, slots=True)
class Phrase:
    """A phrase that a text seems to repeat.

    place: position after its known part, counted from the tenant's first token.
    length: tokens that the text has in common with it.
    """

    place: int
    length: int


@dataclass(frozen=True, slots=True)
class KnownAnswer:
    """Generated tokens of an answer, and the keys of the blocks that hold it."""

    token_ids: Sequence[int]
    keys: frozenset[BlockKey]


@dataclass(slots=True)
class _Answer:
    """Positions [start, stop) of an answer, and the keys of the blocks that hold it."""

    start: int
    stop: int
    keys: frozenset[BlockKey]


@dataclass(slots=True, kw_only=True)
class TenantPhrases:
    """The latest generated tokens of a tenant, with a table of the latest position after each run: TENANT_BYTES.

    The table has the low 32 bits of a position, which identify it among the known ones. A newer run replaces any other
    with the same hash. So a position may be missing, and one that is found is compared with the tokens.
    """

    _tokens: "array[int]" = field(default_factory=lambda: array("i", [_GAP]) * MAX_TOKENS)
    _table: "array[int]" = field(default_factory=lambda: array("I", bytes(4 * _PLACES)))
    _end: int = 0
    _indexed: int = 0
    _recent: list[int] = field(default_factory=list)
    _answers: deque[_Answer] = field(default_factory=deque)
    _chances: list[float] = field(default_factory=lambda: [FIRST_CHANCE] * (len(_LENGTHS) + 1))

    def add(self, token_ids: Sequence[int], keys: frozenset[BlockKey]) -> None:
        """Append an answer. keys: of the blocks that hold it."""
        start = self._end
        for token in token_ids[-(MAX_TOKENS - 1) :]:
            self._append(token)
        self._answers.append(_Answer(start, self._end, keys))
        self._append(_GAP)
        while self._answers[0].stop <= self._end - MAX_TOKENS:
            self._answers.popleft()

    def _append(self, token: int) -> None:
        self._tokens[self._end % MAX_TOKENS] = token
        self._end += 1

    def index(self, most: int) -> None:
        """Index at most `most` more tokens, so that no step waits for a long answer."""
        tokens, table, recent = self._tokens, self._table, self._recent
        if self._indexed < self._end - MAX_TOKENS:
            self._indexed = self._end - MAX_TOKENS
            recent.clear()
        stop = min(self._end, self._indexed + most)
        for place in range(self._indexed, stop):
            token = tokens[place % MAX_TOKENS]
            if token == _GAP:
                recent.clear()
                continue
            # `token` follows the runs that end here.
            for length in RUNS:
                if len(recent) >= length:
                    table[_place_of(recent[-length:])] = place & _LOW_BITS
            recent.append(token)
            del recent[: -RUNS[0]]
        self._indexed = stop

    def erase(self, keys: frozenset[BlockKey]) -> None:
        """Erase the answers of which `keys` hold a block."""
        for answer in [answer for answer in self._answers if not answer.keys.isdisjoint(keys)]:
            # Newer answers may already be where this one began.
            for at in range(max(answer.start, self._end - MAX_TOKENS), answer.stop):
                self._tokens[at % MAX_TOKENS] = _GAP
            self._answers.remove(answer)

    def has(self, keys: frozenset[BlockKey]) -> bool:
        """Return whether an answer is known of which `keys` hold a block."""
        return any(not answer.keys.isdisjoint(keys) for answer in self._answers)

    @property
    def is_empty(self) -> bool:
        """Whether no answer is known."""
        return not self._answers

    def find(self, last: Sequence[int]) -> Phrase | None:
        """Find the phrase that contains the longest run at the end of `last`; of several, the latest."""
        for length in RUNS:
            if len(last) < length:
                continue
            run = last[-length:]
            place = self._end - ((self._end - self._table[_place_of(run)]) & _LOW_BITS)
            if place >= length and self.after(place - length, length) == tuple(run):
                return Phrase(place, length)
        return None

    def after(self, place: int, most: int) -> tuple[int, ...]:
        """Return at most `most` tokens from `place` on, as far as the answer goes."""
        if place < self._end - MAX_TOKENS:
            return ()
        tokens: list[int] = []
        for at in range(place, min(place + most, self._end)):
            token = self._tokens[at % MAX_TOKENS]
            if token == _GAP:
                break
            tokens.append(token)
        return tuple(tokens)

    def chance(self, phrase: Phrase) -> float:
        """Return the share of phrases with so long a match that recently went on as they had."""
        return self._chances[_rank(phrase.length)]

    def learn(self, phrase: Phrase, *, is_right: bool) -> None:
        """Learn whether a text went on as `phrase` did, drafted or not."""
        rank = _rank(phrase.length)
        self._chances[rank] += _NEWEST * (is_right - self._chances[rank])


class Phrases:
    """The phrases of all tenants. No tenant's request sees those of another."""

    def __init__(self, block_size: int) -> None:
        """Remember nothing yet. block_size: tokens of a block, by whose keys answers are erased."""
        self._block_size = block_size
        self._of: OrderedDict[str, TenantPhrases] = OrderedDict()

    def of(self, tenant: str) -> TenantPhrases | None:
        """Return the phrases of `tenant`, after indexing some more; None if there are none."""
        if (phrases := self._of.get(tenant)) is not None:
            self._of.move_to_end(tenant)
            phrases.index(MAX_INDEXED)
        return phrases

    def add(self, request: Request) -> None:
        """Remember the answer of a finished request, unless its KV leaves no trace either."""
        if request.keeps_kv:
            self._add(request.tenant, request.output_token_ids, _keys_of_answer(request, self._block_size))

    def recall(self, tenant: str, answers: Sequence[KnownAnswer]) -> None:
        """Remember answers that an earlier process computed, except for those in blocks of known answers."""
        known = self._of.get(tenant)
        for answer in [each for each in answers if known is None or not known.has(each.keys)]:
            self._add(tenant, answer.token_ids, answer.keys)

    def _add(self, tenant: str, token_ids: Sequence[int], keys: frozenset[BlockKey]) -> None:
        if len(token_ids) <= RUNS[-1]:
            return
        self._of.setdefault(tenant, TenantPhrases()).add(token_ids, keys)
        self._of.move_to_end(tenant)
        while len(self._of) > MAX_TENANTS:
            self._of.popitem(last=False)

    def erase(self, keys: Iterable[BlockKey]) -> None:
        """Forget the answers that are in blocks of `keys`."""
        erased = frozenset(keys)
        if not erased:
            return
        for tenant, phrases in list(self._of.items()):
            phrases.erase(erased)
            if phrases.is_empty:
                del self._of[tenant]


def _place_of(run: Sequence[int]) -> int:
    return hash(tuple(run)) & (_PLACES - 1)


def _rank(length: int) -> int:
    return bisect_right(_LENGTHS, length)


def _keys_of_answer(request: Request, block_size: int) -> frozenset[BlockKey]:
    """Return the keys of the full blocks that hold the answer. If there are none: of the parts of its one block."""
    first, full = request.num_prompt_tokens // block_size, len(request.block_keys)
    if first < full:
        return frozenset(request.block_keys[first:])
    start, parent = full * block_size, request.key_before(full)
    ends = range(request.num_prompt_tokens + 1, request.num_tokens + 1)
    return frozenset(block_key(parent, request.token_ids(start, stop)) for stop in ends)
