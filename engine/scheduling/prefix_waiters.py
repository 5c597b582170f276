"""Requests that wait while another request computes their common prefix, so that it is computed once.

Waiting costs nothing: a waiting request that ran instead would compute the same blocks in the same steps, with each
request getting half of a step. That holds only if the leader gets tokens as soon as the waiting request would. So both
use the share of one tenant, the leader is at least as urgent, and it counts as short as the requests that wait for it.
Any other request computes the prefix itself, and the requests that wait for a slower leader find it too.

Siblings are requests for several answers to one prompt. The first one to have its turn computes the prompt for all.
Siblings share the prompt's full blocks, whether or not they can be found by key. The partly filled last block is copied
before a sibling writes to it, unless it is the only one left that has the block. The last token of the prompt is not
shared. Each sibling computes that row itself, for the logits of its first token, so a worker sees an ordinary request
whose prefix was cached. Siblings share only confirmed blocks, so a failed step cannot corrupt another answer.
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from engine.block_tables.block_manager import BlockManager
from engine.kv.block_pool import BlockPool
from engine.request.request import Request, RequestStatus
from engine.scheduling.queue.request_queue import RequestQueue


@dataclass(frozen=True, slots=True)
class _Waiter:
    """A request that waits for the prefix that its leader computes."""

    request: Request
    leader: Request
    num_blocks: int | None
    """Full blocks of the common prefix, within the leader's prompt; None if the two are siblings."""

    def is_due(self, pool: BlockPool) -> bool:
        """Return whether the wait is over: the prefix can be found, or the leader no longer computes it."""
        leader = self.leader
        if self.num_blocks is None:
            # A sibling shares what a load brings too, so it also waits while the leader is LOADING.
            return leader.has_prompt or leader.status not in (RequestStatus.RUNNING, RequestStatus.LOADING)
        if leader.num_published_blocks >= self.num_blocks or leader.status is not RequestStatus.RUNNING:
            return True
        return pool.has(self.request.block_keys[self.num_blocks - 1])


class PrefixWaiters:
    """Requests that wait for a prefix, each with the leader that computes it.

    A waiting request holds no blocks. Once the blocks are published, it finds them by key.
    """

    def __init__(self, queue: RequestQueue, blocks: BlockManager) -> None:
        self._queue = queue
        self._blocks = blocks
        self._waiters: dict[str, _Waiter] = {}

    def __len__(self) -> int:
        return len(self._waiters)

    def by_tenant(self) -> Counter[str]:
        """Count waiting requests by tenant."""
        return Counter(waiter.request.tenant for waiter in self._waiters.values())

    def wait_for_prefix(self, request: Request, others: Iterable[Request]) -> bool:
        """Let `request` wait for a sibling that will have its prompt, or else for the best leader among `others`.

        The best leader is the request that will have the longest prefix of the prompt. The block table of `request`
        must hold the prefix that the device has now; return False if no leader will have more.
        """
        if (sibling := _leader_of(request, self._blocks.block_size)) is not None:
            self._waiters[request.request_id] = _Waiter(request, sibling, None)
            return True
        leader, most = None, len(request.blocks)
        for other in others:
            will_have = other.keeps_kv and other.num_published_blocks >= len(request.blocks)
            shared = self._num_shared(request, other) if will_have and self._may_lead(other, request) else 0
            if shared > max(most, other.num_published_blocks):
                leader, most = other, shared
        if leader is not None:
            self._waiters[request.request_id] = _Waiter(request, leader, most)
        return leader is not None

    def _may_lead(self, other: Request, request: Request) -> bool:
        """Return whether `other` gets tokens as soon as `request` would, but for their lengths."""
        queue = self._queue
        if queue.tenant_of(other) != queue.tenant_of(request):
            return False
        ahead, behind = (queue.urgency(other), not other.has_begun), (queue.urgency(request), not request.has_begun)
        return ahead <= behind

    def fewest_left(self) -> dict[str, int]:
        """Return, by leader, the fewest tokens that a request behind it would have left to compute in its place."""
        fewest: dict[str, int] = {}
        for waiter in self._waiters.values():
            leader = waiter.leader
            left = waiter.request.num_tokens - leader.num_computed_tokens
            fewest[leader.request_id] = min(left, fewest.get(leader.request_id, left))
        return fewest

    def drop(self, request: Request) -> None:
        """Remove `request`, which has finished."""
        del self._waiters[request.request_id]

    def take_due(self) -> list[Request]:
        """Remove and return the requests whose wait is over."""
        due = [waiter.request for waiter in self._waiters.values() if waiter.is_due(self._blocks.pool)]
        for request in due:
            del self._waiters[request.request_id]
        return due

    def _num_shared(self, request: Request, other: Request) -> int:
        """Count the full blocks of the common prefix of two prompts; 0 if the table of `request` has all of them."""
        mine = min(self._blocks.num_matchable(request), len(request.block_keys))
        most = min(mine, other.num_prompt_tokens // self._blocks.block_size)
        first = len(request.blocks)
        # A key is a hash chain over all blocks before it, so equal keys mean equal prefixes.
        if first >= most or request.block_keys[first] != other.block_keys[first]:
            return 0
        return next((i for i in range(first, most) if request.block_keys[i] != other.block_keys[i]), most)


def source_of(request: Request, block_size: int) -> Request | None:
    """Return a sibling that has the prompt; None if there is none, or the table of `request` already covers it."""
    return next((other for other in _others(request, block_size) if other.has_prompt), None)


def heir_of(request: Request) -> Request | None:
    """Return the waiting sibling that takes over the prompt of `request`, which is finishing.

    Return None if `request` does not have the prompt, another sibling has it too, or none waits without blocks.
    """
    if not request.has_prompt or any(other.has_prompt for other in request.siblings if other is not request):
        return None
    waiting = (RequestStatus.WAITING, RequestStatus.PREEMPTED)
    return next((other for other in request.siblings if other.status in waiting and not other.blocks), None)


def take_prompt(request: Request, source: Request, blocks: BlockManager) -> None:
    """Append the prompt's blocks of `source` to the table of `request`, after the blocks that it already has."""
    blocks.share(request, source, request.num_shared_tokens)
    request.restore_to(request.num_shared_tokens)
    request.prompt_logprobs = list(source.prompt_logprobs)


def _leader_of(request: Request, block_size: int) -> Request | None:
    """Return a sibling that computes or loads the prompt; None as in `source_of`."""
    at_work = (RequestStatus.RUNNING, RequestStatus.LOADING)
    return next((other for other in _others(request, block_size) if other.status in at_work), None)


def _others(request: Request, block_size: int) -> list[Request]:
    if len(request.blocks) * block_size >= request.num_shared_tokens:
        return []
    return [other for other in request.siblings if other is not request]
