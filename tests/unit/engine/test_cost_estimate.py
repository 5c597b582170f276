"""Costs that are learned from the times of mixed amounts."""

import pytest

from engine.cost_estimate import CostEstimate

TRUE = (0.003, 0.0002)
NOISE = 0.0001


def learned(filter_: CostEstimate, measured: list[tuple[float, float]]) -> list[float]:
    for amounts in measured:
        filter_.learn(amounts, sum(cost * amount for cost, amount in zip(TRUE, amounts, strict=True)), NOISE)
    return filter_.costs


def test_costs_of_amounts_that_vary_are_distinguished() -> None:
    filter_ = CostEstimate((0.0, 0.001), (0.005, 0.001))
    assert learned(filter_, [(1, 10), (1, 80), (4, 40), (8, 20)]) == pytest.approx(TRUE, rel=0.05)


def test_cost_that_was_not_measured_stays() -> None:
    filter_ = CostEstimate((0.0, 0.001), (0.005, 0.001))
    assert learned(filter_, [(1, 0), (3, 0)]) == pytest.approx((TRUE[0], 0.001), rel=0.05)


def test_no_cost_becomes_negative() -> None:
    filter_ = CostEstimate((0.001,), (0.001,))
    filter_.learn((1.0,), -0.5, NOISE)
    assert filter_.costs == [0.0]


def test_drift_lets_old_knowledge_give_way() -> None:
    costs = []
    for fraction in (0.0, 0.1):
        filter_ = CostEstimate((0.0,), (0.01,))
        for seconds in [0.002] * 50 + [0.004] * 5:
            filter_.drift((fraction,), 0.001)
            filter_.learn((1.0,), seconds, 0.001)
        costs.append(filter_.costs[0])
    assert costs[0] < 0.0025 < costs[1]


def test_forgotten_costs_return_and_are_learned_again() -> None:
    filter_ = CostEstimate((0.001,), (0.001,))
    for _ in range(100):
        filter_.learn((1.0,), 0.005, NOISE)
    for _ in range(1000):
        filter_.forget(0.01, (0.001,), (0.001,))
    assert filter_.costs == pytest.approx([0.001], rel=0.01)
    filter_.learn((1.0,), 0.005, NOISE)
    assert filter_.costs == pytest.approx([0.005], rel=0.05)
