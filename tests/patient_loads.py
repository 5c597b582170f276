"""Loads that never lose against computing, however busy the machine is."""

import pytest

from engine.offload.prefill_cost import PrefillCost


def make_loads_patient(patch: pytest.MonkeyPatch) -> None:
    """Keep the engines of this process from learning how fast they compute."""
    patch.setattr(PrefillCost, "seconds", lambda _cost, _start, _stop: None)
