"""Counts of routed requests since the start, for /metrics and /live."""

from collections import Counter

from cache_tiers.histogram import Histogram
from engine.fleet.routing.router import Assignment
from engine.loop.stats import RouteStats


class RouteCounts:
    """Owner of the counts. `stats` returns a snapshot of them."""

    def __init__(self) -> None:
        self._routes: Counter[str] = Counter()
        self._takeovers = 0
        self._hand_overs = 0
        self._predicted = Histogram.of_seconds()
        self._seen = Histogram.of_seconds()

    def on_route(self, assignment: Assignment) -> None:
        """Count a request that was sent to a replica."""
        self._routes[assignment.reason] += 1

    def on_takeover(self) -> None:
        """Count an answer that another replica continues."""
        self._takeovers += 1

    def on_hand_over(self) -> None:
        """Count an answer that another replica continues as planned, after the prompt."""
        self._hand_overs += 1

    def on_first_token(self, assignment: Assignment, seconds: float) -> None:
        """Record the first token of a request, `seconds` after it was routed, next to the prediction."""
        if assignment.predicted is not None:
            self._predicted.observe(assignment.predicted)
            self._seen.observe(seconds)

    @property
    def stats(self) -> RouteStats:
        """Current counts."""
        return RouteStats(dict(self._routes), self._takeovers, self._predicted, self._seen, self._hand_overs)
