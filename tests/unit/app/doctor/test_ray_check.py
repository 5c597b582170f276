"""The check of the Ray cluster, as far as it needs none."""

from importlib.metadata import PackageNotFoundError

import pytest

from app.config.settings import load_settings
from app.doctor.ray_check import check_ray
from tests.redis_server import free_port


def test_server_without_ray_address_needs_no_ray() -> None:
    finding = check_ray(load_settings({}, environ={}))
    assert (finding.level, finding.text) == ("ok", "off: replicas run on this machine")


def test_missing_package_fails_with_its_fix(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> str:
        raise PackageNotFoundError(name)

    monkeypatch.setattr("app.doctor.ray_check.version", missing)
    finding = check_ray(load_settings({"ray-address": "auto"}, environ={}))
    assert (finding.level, finding.text) == ("fail", "not installed")
    assert "RAY=1" in finding.advice


def test_head_that_does_not_listen_fails_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("app.doctor.ray_check.version", lambda _: "2.60.0")
    address = f"127.0.0.1:{free_port()}"
    finding = check_ray(load_settings({"ray-address": address}, environ={}))
    assert (finding.level, finding.text) == ("fail", f"{address} cannot be reached: Connection refused")
