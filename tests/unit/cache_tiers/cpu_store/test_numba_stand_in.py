"""Stand-in for numba, which LMCache imports and Ebb never calls."""

import importlib
import sys
from types import ModuleType

import pytest

from cache_tiers.cpu_store.numba_stand_in import numba_stand_in


def test_functions_stay_uncompiled_and_numba_unimported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "numba", raising=False)
    with numba_stand_in():
        # The package itself may be installed or not.
        compiled = importlib.import_module("numba").njit(cache=True)
        assert compiled(abs) is abs
    assert "numba" not in sys.modules


def test_imported_numba_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    real = ModuleType("numba")
    monkeypatch.setitem(sys.modules, "numba", real)
    with numba_stand_in():
        assert sys.modules["numba"] is real
    assert sys.modules["numba"] is real
