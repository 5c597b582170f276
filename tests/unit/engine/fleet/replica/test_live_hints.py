"""Hints of clients that open chat after chat and never leave one."""

from engine.fleet.replica.live_hints import LiveHints
from engine.offload.prefetch_hints import LAPSE_SECONDS


def test_hints_that_no_client_takes_back_lapse() -> None:
    now = 0.0
    hints = LiveHints[str](lambda: now)
    for at in range(100):
        now = at * LAPSE_SECONDS / 4
        hints.add(f"chat {at}", "replica")
        hints.add("renewed", "replica")
    assert hints.names() == [*(f"chat {at}" for at in range(95, 99)), "chat 99", "renewed"]


def test_hints_are_found_removed_and_dropped_by_value() -> None:
    hints = LiveHints[str](lambda: 0.0)
    for name, value in (("a", "x"), ("b", "y"), ("c", "x")):
        hints.add(name, value)
    assert (hints.get("a"), hints.get("d")) == ("x", None)
    assert (hints.pop("b"), hints.pop("b")) == ("y", None)
    hints.drop("x")
    assert len(hints) == 0
