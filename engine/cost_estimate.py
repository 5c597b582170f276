"""Costs per amount, learned from measured times by a Kalman filter with a random-walk state (Kalman, "A New Approach to
Linear Filtering and Prediction Problems", 1960).

An hour of measurements of one kind does not degrade the estimates for the other kinds.
"""

from collections.abc import Sequence


class CostEstimate:
    """Estimates of seconds per amount. The time of a measurement is the sum of its amounts times their costs.

    costs: the current estimates, never negative.
    """

    def __init__(self, costs: Sequence[float], deviations: Sequence[float]) -> None:
        """Begin with estimates and their standard deviations, in seconds per amount."""
        self.costs = list(costs)
        size = len(self.costs)
        self._variances = [
            [deviations[index] ** 2 if index == other else 0.0 for other in range(size)] for index in range(size)
        ]

    def expected(self, amounts: Sequence[float]) -> float:
        """Return the expected seconds of these amounts."""
        return _dot(self.costs, amounts)

    def drift(self, fractions: Sequence[float], least: float) -> None:
        """Increase the variance of each cost by its drift, until the standard deviation reaches the cost itself.

        fractions: standard deviation of each cost's change between two measurements, as a fraction of the cost.
        least: lower bound of a cost here, so that the estimate for an amount that seemed to cost nothing can rise.
        """
        for index, cost in enumerate(self.costs):
            size = max(cost, least)
            if self._variances[index][index] < size**2:
                self._variances[index][index] += (fractions[index] * size) ** 2

    def forget(self, share: float, costs: Sequence[float], deviations: Sequence[float]) -> None:
        """Move the estimates and their variances by `share` of the way towards those with which a filter begins."""
        self.costs = [cost + share * (first - cost) for cost, first in zip(self.costs, costs, strict=True)]
        for index, variances in enumerate(self._variances):
            variances[:] = [(1 - share) * variance for variance in variances]
            variances[index] += share * deviations[index] ** 2

    def learn(self, amounts: Sequence[float], seconds: float, noise: float) -> None:
        """Learn that these amounts took `seconds`, a measurement with the standard deviation `noise`, above 0."""
        expected = self.expected(amounts)
        shares = [_dot(variances, amounts) for variances in self._variances]
        total = _dot(shares, amounts) + noise**2
        gains = [share / total for share in shares]
        self.costs = [
            max(0.0, cost + gain * (seconds - expected)) for cost, gain in zip(self.costs, gains, strict=True)
        ]
        self._variances = [
            [variance - gain * share for variance, share in zip(variances, shares, strict=True)]
            for gain, variances in zip(gains, self._variances, strict=True)
        ]


def _dot(left: Sequence[float], right: Sequence[float]) -> float:
    return sum(a * b for a, b in zip(left, right, strict=True))
