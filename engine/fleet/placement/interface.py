"""Interface of the places where replicas run."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

from engine.executor.core_shares import CoreShare
from engine.fleet.placement.order import ReplicaOrder


@dataclass(frozen=True, slots=True)
class MachinePart:
    """The part of a machine that a replica may use.

    cores: no CPUs for all.
    accelerator: as in ReplicaOrder.
    """

    cores: CoreShare = field(default_factory=CoreShare)
    accelerator: str = ""


class PlacedReplica(Protocol):
    """A replica that was started."""

    @property
    def machine(self) -> str:
        """Name of the replica's machine, for people."""

    @property
    def pid(self) -> int:
        """Process id on the replica's machine."""

    @property
    def epoch(self) -> int:
        """Unique number of this start of the replica, over all replicas."""

    @property
    def token(self) -> bytes:
        """Secret that both ends of a connection know (`handshake`)."""

    async def connect(self, protocol: asyncio.Protocol) -> None:
        """Connect `protocol` to the replica. Call this once. Raise OSError."""

    def retire(self) -> None:
        """Note that the replica is drained, so that its epoch is not found again. Matters to shared replicas only."""

    def kill(self) -> None:
        """End the replica at once, also a frozen one. Do nothing if it has ended."""

    async def died(self) -> None:
        """Wait until a replica that serves computes nothing more, although memory may still be in use.

        Only a sooner notice than that of the socket: a placement that has none waits forever.
        """

    async def ended(self) -> str:
        """Wait until the replica has ended, and return in words how it ended."""


class Placement(Protocol):
    """A way to run replicas.

    is_shared: whether other gateways use the replicas too. They outlive this one, and a lost connection is not the end
        of a replica.
    """

    is_shared: bool

    def shares(self, count: int, accelerators: Sequence[str]) -> list[MachinePart]:
        """Divide this machine among `count` replicas: its CPUs, and `accelerators`, of which each gets one if any."""

    async def start(self, order: ReplicaOrder) -> PlacedReplica:
        """Start one epoch of a replica, without waiting for its engine. Nothing stays started if the call is cancelled.

        A shared replica may have another epoch and token than those of `order`. Raise EngineError if there is no room
        now.
        """
