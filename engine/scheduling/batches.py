"""Disjoint batches: in a pipeline several steps are in flight, and each decode is in at most one of them.

A decode needs the token that a step in flight samples. With one batch for all, every stage but one would wait for it.
A step therefore takes only a part of the decodes, and the other steps in flight take the others. Chunks of a prompt
need no tokens, so consecutive steps may have chunks of the same prompt.
"""

from collections import deque

from engine.request.request import Request


class Batches:
    """Steps in flight, in order.

    num_stages: number of steps that are computed at once, each on one stage.
    """

    def __init__(self, num_stages: int) -> None:
        self.num_stages = num_stages
        self._in_flight: deque[int] = deque()
        self._awaited: int | None = None

    @property
    def num_in_flight(self) -> int:
        """Number of steps whose result has not arrived."""
        return len(self._in_flight)

    def open(self, *, ahead: bool) -> None:
        """Begin to schedule a step. ahead: whether the oldest step in flight will end before the new one begins."""
        self._awaited = self._in_flight[0] if ahead and self._in_flight else None

    def begin(self, step_id: int) -> None:
        """Note that a step was scheduled."""
        self._in_flight.append(step_id)

    def end(self) -> None:
        """Note that the oldest step has ended, or will never end."""
        self._in_flight.popleft()

    def is_free(self, request: Request) -> bool:
        """Return whether the step that is being scheduled may have `request`: no later step samples its last token."""
        return not request.samples_in_flight or self.num_stages == 1 or request.sampled_by == self._awaited

    def share(self, num_decodes: int) -> int:
        """Return how many of all `num_decodes` decodes one step takes, so that each stage has as many."""
        return -(-num_decodes // self.num_stages)
