"""Queue policies by name."""

from collections.abc import Mapping
from typing import Literal

from engine.scheduling.queue.fair import FairQueue
from engine.scheduling.queue.fcfs import FcfsQueue
from engine.scheduling.queue.priority import PriorityQueue
from engine.scheduling.queue.request_queue import RequestQueue

QueuePolicy = Literal["fcfs", "priority", "fair"]


def make_queue(policy: QueuePolicy, *, max_waiting: int, max_wait: float, weights: Mapping[str, float]) -> RequestQueue:
    """Make the queue of a policy.

    max_waiting: requests that may wait. max_wait: seconds after which a request is next, unused by "fcfs". weights: by
    tenant, used by "fair" only; a tenant that is not listed weighs 1.
    """
    match policy:
        case "fcfs":
            return FcfsQueue(max_waiting)
        case "priority":
            return PriorityQueue(max_waiting, max_wait)
        case "fair":
            return FairQueue(max_waiting, max_wait, weights)
