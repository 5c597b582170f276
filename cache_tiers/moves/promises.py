"""Promises of chains whose blocks may still be on their way down."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from cache_tiers.lower.promise import Promised, PromiseEnd, PromiseTerms
from cache_tiers.owners.block_key import BlockKey
from cache_tiers.store import KVTierStore

ASK_AGAIN_SECONDS: Final = 0.005
"""Interval at which the tier is asked again for blocks that had not arrived there."""


@dataclass(slots=True, kw_only=True)
class _Promise:
    """A promise in progress.

    num_blocks: length of the run that is promised so far.
    end: why the run ended at the last answer.
    handle: of the question to the tier that is not answered; None while there is none.
    """

    keys: Sequence[BlockKey]
    terms: PromiseTerms
    ends_at: float
    num_blocks: int = 0
    end: PromiseEnd | None = "away"
    handle: int | None = None
    ask_at: float = 0.0


class Promises:
    """Promises in progress, by the name of their request. Called from one thread; `clock` returns seconds."""

    def __init__(self, store: KVTierStore, *, clock: Callable[[], float]) -> None:
        self._store = store
        self._clock = clock
        self._promises: dict[str, _Promise] = {}
        self._results: dict[str, Promised] = {}
        self._unanswered: set[int] = set()

    def __len__(self) -> int:
        return len(self._promises)

    def begin(self, name: str, keys: Sequence[BlockKey], terms: PromiseTerms, *, patience: float) -> None:
        """Promise the blocks that are in the tier, or arrive there within `patience` seconds.

        Terms of 0 seconds end the promises of the blocks that are there.
        """
        self._promises[name] = _Promise(keys=keys, terms=terms, ends_at=self._clock() + patience)
        self.poll()

    def take(self, name: str) -> Promised | None:
        """Return the result, once; None while it is not known."""
        return self._results.pop(name, None)

    def poll(self) -> None:
        """Ask the tier, and take its answers."""
        now = self._clock()
        self._unanswered = {handle for handle in self._unanswered if self._store.poll_promise(handle) is None}
        for name, promise in list(self._promises.items()):
            end = self._advance(promise, now)
            if end is not None:
                self._results[name] = end
                del self._promises[name]

    def _advance(self, promise: _Promise, now: float) -> Promised | None:
        """Continue a promise. Return the result once it is known."""
        if promise.handle is None and now >= promise.ask_at:
            promise.handle = self._store.promise(promise.keys[promise.num_blocks :], promise.terms)
        if promise.handle is None:
            return None
        answer = self._store.poll_promise(promise.handle)
        if answer is None:
            if now < promise.ends_at:
                return None
            self._unanswered.add(promise.handle)
            return Promised(promise.num_blocks, promise.end)
        promise.handle, promise.ask_at = None, now + ASK_AGAIN_SECONDS
        promise.num_blocks += answer.num_blocks
        promise.end = answer.end
        is_over = answer.end != "absent" or now >= promise.ends_at or not promise.terms.seconds
        return Promised(promise.num_blocks, answer.end) if is_over else None
