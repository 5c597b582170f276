"""Requests that wait while another request computes their common prefix, so that it is computed once.

Waiting costs nothing: a waiting request that ran instead would compute the same blocks in the same steps, with each
request getting half of a step.
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from engine.kv.block_manager import BlockManager
from engine.request import Request, RequestStatus
from engine.scheduling.siblings import leader_of


@dataclass(frozen=True, slots=True)
class _Waiter:
    """A request that waits for the prefix that its leader computes."""

    request: Request
    leader: Request
    num_blocks: int | None
    """Full blocks of the common prefix, within the leader's prompt; None if the two are siblings."""

    @property
    def is_due(self) -> bool:
        """Whether the wait is over: the leader has the prefix, or no longer computes it."""
        leader = self.leader
        if self.num_blocks is None:
            # A sibling shares what a load brings too, so it also waits while the leader is LOADING.
            return leader.has_prompt or leader.status not in (RequestStatus.RUNNING, RequestStatus.LOADING)
        return leader.num_published_blocks >= self.num_blocks or leader.status is not RequestStatus.RUNNING


class PrefixWaiters:
    """Requests that wait for a prefix, each with the leader that computes it.

    A waiting request holds no blocks. Once the leader's blocks are published, it finds them by key.
    """

    def __init__(self, blocks: BlockManager) -> None:
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
        if (sibling := leader_of(request, self._blocks.block_size)) is not None:
            self._waiters[request.request_id] = _Waiter(request, sibling, None)
            return True
        leader, most = None, len(request.blocks)
        for other in others:
            will_have = other.keeps_kv and other.num_published_blocks >= len(request.blocks)
            shared = self._num_shared(request, other) if will_have else 0
            if shared > max(most, other.num_published_blocks):
                leader, most = other, shared
        if leader is not None:
            self._waiters[request.request_id] = _Waiter(request, leader, most)
        return leader is not None

    def drop(self, request: Request) -> None:
        """Remove `request`, which has finished."""
        del self._waiters[request.request_id]

    def take_due(self) -> list[Request]:
        """Remove and return the requests whose wait is over."""
        due = [waiter.request for waiter in self._waiters.values() if waiter.is_due]
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
