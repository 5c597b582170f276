"""StageLink on torch.distributed."""

from collections import deque
from collections.abc import Sequence
from typing import Final

import torch
from torch import distributed

from engine.worker.batch.stage_link import most_unheard
from models.interface.partition import Partition

_HIDDEN: Final = 1
_TOKENS: Final = 2
"""Tags that keep the two kinds of messages apart."""


class TorchStageLink:
    """StageLink between processes that have joined one group (`TorchRanks`).

    Each rank exchanges hidden states with the same rank of the stages before and after, since all ranks of a stage have
    the same. Tokens travel between hosts.
    """

    def __init__(self, partition: Partition, process: int) -> None:
        """process: number of this process in `partition`."""
        self.num_stages = partition.num_stages
        self._before, self._after = process - partition.ranks, process + partition.ranks
        self._sampler, self._listeners = partition.sampler, range(partition.sampler)
        most = most_unheard(partition.num_stages)
        self._hidden, self._tokens = _Outbox(most), _Outbox(most * len(self._listeners))

    def receive(self, hidden: torch.Tensor) -> None:
        """See StageLink."""
        distributed.recv(hidden, self._before, tag=_HIDDEN)

    def send(self, hidden: torch.Tensor) -> None:
        """See StageLink."""
        self._hidden.send(hidden, self._after, _HIDDEN)

    def tell(self, token_ids: Sequence[int]) -> None:
        """See StageLink."""
        message = torch.tensor(token_ids, dtype=torch.int64)
        for process in self._listeners:
            self._tokens.send(message, process, _TOKENS)

    def hear(self, count: int) -> list[int]:
        """See StageLink."""
        message = torch.empty(count, dtype=torch.int64)
        distributed.recv(message, self._sampler, tag=_TOKENS)
        heard: list[int] = message.tolist()
        return heard


class _Outbox:
    """Messages that are being sent, and stay alive until then."""

    def __init__(self, most: int) -> None:
        """most: messages under way at once. When one more is sent, the oldest has been received."""
        self._most = most
        self._under_way: deque[tuple[distributed.Work, torch.Tensor]] = deque()

    def send(self, message: torch.Tensor, process: int, tag: int) -> None:
        """Begin to send a message."""
        while len(self._under_way) > self._most:
            work, _ = self._under_way.popleft()
            work.wait()
        sending = distributed.isend(message, process, tag=tag)
        assert sending is not None
        self._under_way.append((sending, message))
