"""Services bound to tenants."""

from pathlib import Path

import pytest

from app import services as module
from app.conversations.kv_erasure import KVErasure
from app.host.engine_host import EngineHost
from app.open_services import open_services
from app.services import Services
from app.storage.store import Store

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
    assert len(services.access.gates._gates) <= 11


async def test_gate_of_a_tenant_survives_its_services_while_it_serves(
    services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MAX_BOUND", 1)
    turns = services.of("alice").turns
    services.of("bob")
    assert services.of("alice").turns is not turns
    assert services.access.gates.of("alice") is turns._gate


async def test_store_is_closed_though_another_part_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ended = list[str]()
    close = Store.close

    async def watched(store: Store) -> None:
        ended.append("store")
        await close(store)

    async def failing(_erasure: KVErasure) -> None:
        ended.append("erasure")
        raise RuntimeError("a defect")

    monkeypatch.setattr(Store, "close", watched)
    monkeypatch.setattr(KVErasure, "stop", failing)
    services = await open_services(tmp_path / "conversations.db", EngineHost())
    with pytest.raises(RuntimeError, match="a defect"):
        await services.close()
    assert ended == ["erasure", "store"]
