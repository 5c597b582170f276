"""Gates of many tenants: regular work visits only those with use."""

import pytest

from app.tenants.gate import TenantGate, TenantGates
from app.tenants.limits import NO_LIMITS, TenantLimits
from app.tenants.token_bucket import Debt, OwedUse, Use

LIMITS = TenantLimits(requests_per_minute=60)


class Clock:
    """A clock in seconds that the test sets."""

    now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def gates(clock: Clock) -> TenantGates:
    return TenantGates(lambda _: LIMITS, clock, {"carol": OwedUse(Debt(30.0, 60))})


def debt_of(gates: TenantGates, tenant: str) -> float:
    return gates.of(tenant)._requests.debt.seconds


def test_gates_without_use_are_not_visited(gates: TenantGates, monkeypatch: pytest.MonkeyPatch) -> None:
    visited = list[str]()
    for name in ("take_added", "take_used", "settle"):
        act = getattr(TenantGate, name)

        def noted(gate: TenantGate, *given: object, act: object = act) -> object:
            visited.append(gate.tenant)
            return act(gate, *given)  # type: ignore[operator]

        monkeypatch.setattr(TenantGate, name, noted)
    for number in range(100):
        gates.of(f"idle-{number}")
    gates.of("alice")._count_requests(2)
    added = gates.take_added()
    assert list(added) == ["alice"]
    assert gates.take_used() == {"alice": Use(requests=2)}
    gates.settle(added)
    gates.settle({})
    assert (gates.take_added(), gates.take_used()) == ({}, {})
    assert set(visited) == {"alice"}
    assert debt_of(gates, "alice") == 0


def test_debt_of_other_servers_is_taken_over_and_ends(gates: TenantGates) -> None:
    owed = OwedUse(Debt(20.0, 60))
    gates.of("bob")
    gates.settle({"bob": owed, "dave": owed})
    assert (debt_of(gates, "bob"), debt_of(gates, "dave")) == (20, 20)
    gates.settle({})
    assert (debt_of(gates, "bob"), debt_of(gates, "dave")) == (0, 0)


def test_former_debt_ends_with_the_total(gates: TenantGates) -> None:
    assert debt_of(gates, "carol") == 30
    gates.settle({"carol": OwedUse(Debt(10.0, 60))})
    assert debt_of(gates, "carol") == 10
    gates.settle({})
    assert debt_of(gates, "carol") == 0


def test_use_that_was_given_back_is_taken_again(gates: TenantGates) -> None:
    gates.of("alice")._count_requests(1)
    added = gates.take_added()
    gates.give_back(added)
    assert gates.take_added() == added
    gates.settle(added)
    assert gates.take_added() == {}


def test_use_during_a_settlement_is_not_forgotten(gates: TenantGates) -> None:
    gates.of("alice")._count_requests(1)
    added = gates.take_added()
    gates.of("alice")._count_requests(1)
    gates.settle(added)
    assert debt_of(gates, "alice") == 2
    assert gates.take_added() != {}
    gates.settle({})
    assert debt_of(gates, "alice") == 0


@pytest.mark.parametrize("limits", [LIMITS, NO_LIMITS])
def test_tenants_that_are_gone_are_forgotten(clock: Clock, limits: TenantLimits) -> None:
    gates = TenantGates(lambda _: limits, clock)
    for number in range(3000):
        gates.of(f"tenant-{number}")._count_requests(1)
        if number % 10 == 9:
            gates.take_used()
            added = gates.take_added()
            assert len(added) == (10 if limits is LIMITS else 0)
            if added:
                gates.settle(added)
                clock.now += 60.0
                gates.settle({})
    assert len(gates._gates) == 0
    assert not gates._owing


def test_gate_of_a_tenant_that_owes_is_kept(gates: TenantGates) -> None:
    gates.of("alice")._count_requests(30)
    gates.take_used()
    gates.settle(gates.take_added())
    assert (list(gates._gates), debt_of(gates, "alice")) == (["alice"], 30)


def test_use_in_doubt_counts_for_a_tenant_that_is_gone(gates: TenantGates, clock: Clock) -> None:
    gates.of("alice")._count_requests(30)
    gates.take_used()
    added = gates.take_added()
    gates.settle({})
    assert len(gates._gates) == 0
    gates.give_back(added)
    assert gates.take_added() == added
