"""Replicas on accelerators: each process sees one device. The devices need not exist for that."""

import asyncio
import os
import subprocess
import sys
from pathlib import Path

import pytest

from engine.config import CacheConfig, DeviceConfig, EngineConfig, ModelConfig
from engine.fleet.placement import local
from engine.fleet.placement.interface import MachinePart
from engine.fleet.placement.local import LocalPlacement
from engine.fleet.placement.order import ReplicaOrder
from engine.fleet.placement.shared_starter import LocalStarter
from engine.fleet.wire.handshake import new_token
from tests.waiting import until


@pytest.fixture(autouse=True)
def _spawned(monkeypatch: pytest.MonkeyPatch) -> None:
    """Start replicas by their command, because a forked process has its variables too late to be read here."""
    monkeypatch.setattr(local, "subprocess", subprocess)


class Connection(asyncio.Protocol):
    """The gateway's end of the connection to a replica."""

    def __init__(self) -> None:
        self.lost = asyncio.Event()

    def connection_lost(self, exc: Exception | None) -> None:
        """Note the end of the replica."""
        self.lost.set()


def environment_of(pid: int) -> dict[str, str]:
    """Return the variables with which a process began. A process that begins right now has none for a moment."""
    path = Path(f"/proc/{pid}/environ")
    entries = until(lambda: path.read_bytes() or None).decode().split("\0")
    return dict(entry.split("=", 1) for entry in entries if entry)


def order(folder: Path, index: int, share: MachinePart) -> ReplicaOrder:
    config = EngineConfig(
        model=ModelConfig(path=folder, name="fake"),
        cache=CacheConfig(tiers=None, secret=b"a secret of the tests"),
        device=DeviceConfig(kind="cuda"),
    )
    return ReplicaOrder(
        config, index, index, new_token(), os.getpid(), share.cores.cpus, share.accelerator, 30, sys.getswitchinterval()
    )


async def test_each_replica_sees_one_device(tmp_path: Path) -> None:
    placement = LocalPlacement()
    seen = []
    for index, share in enumerate(placement.shares(2, ("4", "6"))):
        replica = await placement.start(order(tmp_path, index, share))
        connection = Connection()
        await replica.connect(connection)
        seen.append(environment_of(replica.pid)["CUDA_VISIBLE_DEVICES"])
        replica.kill()
        await replica.ended()
        await connection.lost.wait()
    assert seen == ["4", "6"]


async def test_shared_replica_sees_one_device(tmp_path: Path) -> None:
    starter = LocalStarter("127.0.0.1")
    place = await starter.start(order(tmp_path, 1, starter.shares(2, ("4", "6"))[1]))
    try:
        assert environment_of(place.process.pid)["CUDA_VISIBLE_DEVICES"] == "6"
    finally:
        await starter.end(place)
