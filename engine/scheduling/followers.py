"""Requests that wait while another one computes the beginning that they share: it is computed once.

Nobody loses by it: alone, a follower would compute the same blocks in the same steps, with half the room each.
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from engine.kv.block_manager import BlockManager
from engine.request import Request, RequestStatus
from engine.scheduling.siblings import leader_of


@dataclass(frozen=True, slots=True)
class _Follower:
    """num_blocks: of their common beginning, as far as the leader's prompt goes; None: they are siblings."""

    request: Request
    leader: Request
    num_blocks: int | None

    @property
    def is_due(self) -> bool:
        """Whether there is nothing more to wait for."""
        leader = self.leader
        if self.num_blocks is None:
            # What the tiers bring is for it too.
            return leader.has_prompt or leader.status not in (RequestStatus.RUNNING, RequestStatus.LOADING)
        return leader.num_published_blocks >= self.num_blocks or leader.status is not RequestStatus.RUNNING


class Followers:
    """A follower holds no blocks: once the leader's are published it finds them as anybody would."""

    def __init__(self, blocks: BlockManager) -> None:
        self._blocks = blocks
        self._followers: dict[str, _Follower] = {}

    def __len__(self) -> int:
        return len(self._followers)

    def by_tenant(self) -> Counter[str]:
        """Count followers by tenant."""
        return Counter(follower.request.tenant for follower in self._followers.values())

    def follow(self, request: Request, others: Iterable[Request]) -> bool:
        """Let `request`, whose table holds what the device has of it, wait for a sibling that will have its prompt, or
        for the one of `others` that will have most of it; False if none will have more than the device has."""
        if (sibling := leader_of(request, self._blocks.block_size)) is not None:
            self._followers[request.request_id] = _Follower(request, sibling, None)
            return True
        leader, most = None, len(request.blocks)
        for other in others:
            will_have = other.keeps_kv and other.num_published_blocks >= len(request.blocks)
            shared = self._num_shared(request, other) if will_have else 0
            if shared > max(most, other.num_published_blocks):
                leader, most = other, shared
        if leader is not None:
            self._followers[request.request_id] = _Follower(request, leader, most)
        return leader is not None

    def drop(self, request: Request) -> None:
        """It has ended."""
        del self._followers[request.request_id]

    def take_due(self) -> list[Request]:
        """Those who need not wait any longer."""
        due = [follower.request for follower in self._followers.values() if follower.is_due]
        for request in due:
            del self._followers[request.request_id]
        return due

    def _num_shared(self, request: Request, other: Request) -> int:
        """Full blocks of the common beginning of two prompts, beyond what the device has; else 0."""
        mine = min(self._blocks.num_matchable(request), len(request.block_keys))
        most = min(mine, other.num_prompt_tokens // self._blocks.block_size)
        first = len(request.blocks)
        # A key stands for all that lies before it: where one is equal, all before it are.
        if first >= most or request.block_keys[first] != other.block_keys[first]:
            return 0
        return next((i for i in range(first, most) if request.block_keys[i] != other.block_keys[i]), most)
