"""Services bound to tenants."""

import pytest

from app import services as module
from app.services import Services

pytest_plugins = ["tests.services_fixtures"]


async def test_services_of_tenants_that_are_gone_are_forgotten(
    services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MAX_BOUND", 10)
    recent = services.of("recent")
    for number in range(3000):
        services.of(f"tenant-{number}")
        assert services.of("recent") is recent
    assert len(services._of_tenants) == 10
    assert services.of("tenant-2999").store.tenant == "tenant-2999"
    assert len(services.gates._gates) <= 11


async def test_gate_of_a_tenant_survives_its_services_while_it_serves(
    services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MAX_BOUND", 1)
    turns = services.of("alice").turns
    services.of("bob")
    assert services.of("alice").turns is not turns
    assert services.gates.of("alice") is turns._gate
