"""The interface between one process of a pipeline and the other stages."""

from collections.abc import Sequence
from typing import Protocol

import torch


class StageLink(Protocol):
    """Messages between the stages. Every stage makes the passes in the same order.

    num_stages: number of stages.
    """

    num_stages: int

    def receive(self, hidden: torch.Tensor) -> None:
        """Fill `hidden` with the hidden states of the stage before."""

    def send(self, hidden: torch.Tensor) -> None:
        """Send hidden states to the next stage, without waiting for it. `hidden` must not change afterwards."""

    def tell(self, token_ids: Sequence[int]) -> None:
        """Send the tokens of a pass from the last stage to all others, without waiting for them."""

    def hear(self, count: int) -> list[int]:
        """Wait for the `count` tokens of the oldest pass that this stage has not heard of, and return them."""


def most_unheard(num_stages: int) -> int:
    """Return how many messages may wait for their receiver.

    As many steps are in flight as there are stages, and one more. Older ones have ended, so their messages are there.
    """
    return num_stages + 2
