"""What a request gets when its turn has come: the prefix that is known, and room for the rest."""

from collections.abc import Sequence

from cache_tiers.transfer import BlockCopy
from engine.kv.block_manager import BlockManager
from engine.outputs import KVReceipt, Reuse, ReuseEnd
from engine.request import Lack, Request, RequestStatus, Restored
from engine.scheduling.request_states import RequestStates
from engine.scheduling.room import Room
from engine.scheduling.siblings import source_of, take_prompt
from engine.scheduling.tiering import Tiering


class Admission:
    """`tiering` is None when nothing lies below the device."""

    def __init__(self, states: RequestStates, blocks: BlockManager, tiering: Tiering | None, room: Room) -> None:
        self._states = states
        self._blocks = blocks
        self._room = room
        self._tiering = tiering
        self._copies: list[BlockCopy] = []

    def admit(self, request: Request, now: float, stoppable: Sequence[Request] = ()) -> bool:
        """Give it its cached prefix and blocks for all of its known tokens; may turn it to LOADING or FOLLOWING.

        Two prompts that counted on the same blocks would end with one of them preempted, so each takes all that it
        needs when it begins. stoppable: running requests that may be stopped for it.
        """
        if not request.blocks:
            if self._lacks_still(request, stoppable):
                return False
            device = self._blocks.match_prefix(request)
            if (source := source_of(request, self._blocks.block_size)) is not None:
                return self._fork(request, source, now, stoppable)
            if self._states.followers.follow(request, self._states.running):
                self._blocks.free(request)
                request.status = RequestStatus.FOLLOWING
                return True
            if not self._find_room(request, now, stoppable):
                self._refuse(request)
                return False
            if self._tiering is not None and not request.tiers_asked:
                request.tiers_asked = True
                if self._tiering.begin(request):
                    request.status = RequestStatus.LOADING
                    return True
            request.num_computed_tokens = request.num_confirmed_tokens = device * self._blocks.block_size
        if not self._find_room(request, now, stoppable):
            return False
        self._settle(request)
        return True

    def _fork(self, request: Request, source: Request, now: float, stoppable: Sequence[Request]) -> bool:
        """Go on from the prompt of a sibling."""
        take_prompt(request, source, self._blocks)
        if not self._find_room(request, now, stoppable):
            request.num_computed_tokens = request.num_confirmed_tokens = 0
            self._refuse(request)
            return False
        self._settle(request)
        return True

    def _find_room(self, request: Request, now: float, stoppable: Sequence[Request]) -> bool:
        missing = self._blocks.num_missing(request) + self._shares_last(request)
        return self._room.clear(missing, stoppable, now)

    def _shares_last(self, request: Request) -> bool:
        return bool(request.num_computed_tokens) and self._blocks.shares_last(request)

    def _refuse(self, request: Request) -> None:
        """Take its prefix back, and remember what it lacked: until then its prompt is not looked up again."""
        found, missing = len(request.blocks), self._blocks.num_missing(request)
        keys = request.block_keys[found : found + 1]
        self._blocks.free(request)
        request.lack = Lack(missing, keys[0] if keys else None)

    def _lacks_still(self, request: Request, stoppable: Sequence[Request]) -> bool:
        """Tell, without looking at its prompt, whether it lacks what it lacked when it was last tried."""
        lack, pool = request.lack, self._blocks.pool
        if lack is None or (lack.next_key is not None and pool.has(lack.next_key)):
            return False
        return lack.num_blocks > pool.num_free + sum(len(each.blocks) for each in stoppable)

    def take_copies(self) -> tuple[BlockCopy, ...]:
        """Copies within the device for the step that is being put together."""
        copies, self._copies = tuple(self._copies), []
        return copies

    def _settle(self, request: Request) -> None:
        """There is room: go on in a partly filled block, if one is known, and take the blocks of the rest."""
        if request.num_computed_tokens == len(request.blocks) * self._blocks.block_size:
            tokens, copy = self._blocks.claim_tail(request)
            request.num_computed_tokens += tokens
            request.num_confirmed_tokens = request.num_computed_tokens
            if copy is not None:
                self._copies.append(copy)
        elif self._blocks.shares_last(request):
            self._copies.append(self._blocks.own_last(request))
        grown = self._blocks.grow(request, request.num_tokens)
        assert grown is not None, "there was no room for a request that was admitted"
        if request.started is None:
            request.receipt = self._receipt(request)
            request.reuse = self._reuse(request)
            request.reuse_seconds = self._tiering.prefill.seconds(0, request.receipt.cached) if self._tiering else None

    def _reuse(self, request: Request) -> Reuse | None:
        if not self._blocks.prefix_cache:
            return None
        end = request.reuse_end
        if self._tiering is None:
            end = ReuseEnd("evicted", "nothing lies below the device", ("device",))
        return Reuse(request.num_computed_tokens, self._states.prefixes.longest(request), end)

    def _receipt(self, request: Request) -> KVReceipt:
        """Of its first admission: what was not restored and need not be computed was on the device."""
        cached, restored = request.num_computed_tokens, request.restored or Restored(0, 0, 0.0)
        cpu = min(restored.cpu, cached)
        redis = min(restored.redis, cached - cpu)
        seconds = restored.seconds if cpu or redis else 0.0
        return KVReceipt(cached - cpu - redis, cpu, redis, request.num_tokens - cached, seconds * 1e3)
