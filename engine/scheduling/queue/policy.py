"""The queue for a policy's name."""

from collections.abc import Mapping
from typing import Literal

from engine.scheduling.queue.fair import FairQueue
from engine.scheduling.queue.fcfs import FcfsQueue
from engine.scheduling.queue.priority import PriorityQueue
from engine.scheduling.queue.request_queue import RequestQueue

QueuePolicy = Literal["fcfs", "priority", "fair"]


def make_queue(policy: QueuePolicy, *, max_waiting: int, max_wait: float, weights: Mapping[str, float]) -> RequestQueue:
    """max_waiting: requests. max_wait: seconds, which "fcfs" does not need. weights: of tenants, 1 if not named."""
    match policy:
        case "fcfs":
            return FcfsQueue(max_waiting)
        case "priority":
            return PriorityQueue(max_waiting, max_wait)
        case "fair":
            return FairQueue(max_waiting, max_wait, weights)
