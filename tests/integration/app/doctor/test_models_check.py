"""The finding of `ebb doctor` on several models."""

from pathlib import Path

import pytest

from app.config.settings import load_settings
from app.doctor.finding import Finding
from app.doctor.models_check import check_models
from tests.tiny_models import make_tiny_model


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Make a directory of two models."""
    for name in ("ant", "bee"):
        make_tiny_model(tmp_path / name)
    return tmp_path


def found(folder: Path, **flags: str) -> Finding:
    given = {"models-dir": str(folder), "cache-dir": str(folder / "cache"), "device": "cpu", **flags}
    return check_models(load_settings(given, environ={"HOME": "/home/ann"}))


def test_finding_has_the_memory_of_each_and_the_division(folder: Path) -> None:
    finding = found(folder, **{"kv-memory": "1MiB", "cpu-kv-memory": "2MiB"})
    assert finding.level == "ok"
    assert finding.text.startswith("ant 38")
    assert "; bee 38" in finding.text
    assert "at most 2 at once. Redis and the disk are shared; each has a CPU tier, of 2 MiB" in finding.text
    assert "one of 2 equal parts" in found(folder).text


def test_model_that_cannot_fit_is_a_warning(folder: Path) -> None:
    finding = found(folder, **{"kv-memory": "1048576GiB"})
    assert finding.level == "warn"
    assert finding.text.startswith("ant, bee not loadable in ")


def test_contradiction_is_a_failure(folder: Path) -> None:
    assert found(folder, **{"models-pinned": "cat"}).level == "fail"
    assert check_models(load_settings({}, environ={"HOME": "/home/ann"})).text.startswith("one")
