"""Lookups in the lower tiers that run while their requests compute."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from cache_tiers.moves.manager import TierManager
from cache_tiers.owners.block_key import BlockKey
from engine.offload.load_policy import LoadPolicy
from engine.offload.miss_reason import reason_of_miss
from engine.offload.prefill_cost import PrefillCost
from engine.request.request import Request, RequestStatus


@dataclass(frozen=True, slots=True)
class FoundBlocks:
    """Blocks of a running request that the lower tiers have and that are faster to load than to compute."""

    request: Request
    index: int
    """Index of the first of them in the request's table: the first block that is not computed yet."""
    keys: Sequence[BlockKey]


@dataclass(slots=True)
class _Lookup:
    """A lookup for one request."""

    request: Request
    handle: int
    """Handle of the lookup in the tier store."""
    index: int
    """Index of the first block of the lookup in the request's table."""
    key: BlockKey
    """Key of that block."""
    started: float
    """Start of the lookup, in seconds on the clock."""
    num_found: int | None = None
    """Leading blocks of the lookup that the tiers have; None until they answer."""


class PendingLookups:
    """The lookups in flight, at most one per request."""

    def __init__(
        self,
        tiers: TierManager,
        policy: LoadPolicy,
        prefill: PrefillCost,
        *,
        block_size: int,
        clock: Callable[[], float],
    ) -> None:
        self._tiers = tiers
        self._policy = policy
        self._prefill = prefill
        self._block_size = block_size
        self._clock = clock
        self._lookups: dict[str, _Lookup] = {}

    def start(self, request: Request, index: int, keys: Sequence[BlockKey]) -> None:
        """Look `keys` up, which begin at block `index` of the request. Do nothing if it has a lookup in flight."""
        if request.request_id not in self._lookups:
            handle = self._tiers.store.look_up(keys)
            self._lookups[request.request_id] = _Lookup(request, handle, index, keys[0], self._clock())

    def tokens_until_answer(self, request: Request) -> int | None:
        """Return how many tokens a request should compute before its lookup is expected to be answered.

        None means no limit: the request has no lookup in flight, its duration cannot be estimated, or the answer is
        long overdue. 0 means that the tiers have answered, and the request waits for its steps in flight.
        """
        lookup = self._lookups.get(request.request_id)
        speed = self._tiers.store.link_speed()
        if lookup is None or speed is None or speed.answer_seconds is None:
            return None
        if lookup.num_found is not None:
            return 0
        size, computed = self._block_size, request.num_computed_tokens
        seconds = self._prefill.seconds(computed, computed + size)
        left = lookup.started + speed.answer_seconds - self._clock()
        # An answer that is long overdue is stuck behind other work, so small steps would only be slow.
        return size * max(1, int(left / seconds)) if seconds and left > -speed.answer_seconds else None

    def take_found(self) -> Iterator[FoundBlocks]:
        """Yield the blocks to load for running requests, and end the lookups that have become useless.

        A request that still waits for its turn gets its blocks prefetched into host memory instead.
        """
        for request_id, lookup in list(self._lookups.items()):
            if lookup.num_found is None:
                lookup.num_found = self._tiers.store.poll_look_up(lookup.handle)
                if lookup.num_found is None:
                    continue
            request = lookup.request
            if request.status is RequestStatus.LOADING:
                continue
            if request.status is RequestStatus.WAITING:
                if not request.tiers_asked:
                    del self._lookups[request_id]
                    self._warm(lookup, lookup.num_found)
                continue
            found = self._left(lookup, lookup.num_found)
            if request.status is not RequestStatus.RUNNING or not self._is_worth_loading(found):
                del self._lookups[request_id]
                self._explain_absence(lookup)
            elif request.steps_in_flight == 0:
                del self._lookups[request_id]
                yield found

    def _warm(self, lookup: _Lookup, num_found: int) -> None:
        if num_found:
            keys = lookup.request.block_keys[lookup.index : lookup.index + num_found]
            self._tiers.warm(lookup.request.request_id, keys)

    def _explain_absence(self, lookup: _Lookup) -> None:
        request = lookup.request
        if lookup.num_found == 0 and request.reuse is not None:
            missing = self._tiers.store.miss_of(lookup.key)
            request.reuse = replace(
                request.reuse, end=reason_of_miss(missing, self._tiers.stores.places_of(lookup.key))
            )

    def _is_worth_loading(self, found: FoundBlocks) -> bool:
        return bool(found.keys) and self._policy.is_worth_loading(found.index, found.keys)

    def _left(self, lookup: _Lookup, num_found: int) -> FoundBlocks:
        """Return the found blocks that the request has not computed yet.

        Return none if blocks before those of the lookup are not computed yet, since they may have left the tiers.
        """
        first = lookup.request.num_computed_tokens // self._block_size
        end = lookup.index + num_found if first >= lookup.index else first
        return FoundBlocks(lookup.request, first, lookup.request.block_keys[first:end])
