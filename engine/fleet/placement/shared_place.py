"""Where the gateways of a database find a replica that they share, and who may start one."""

import hmac
import socket
from typing import Protocol

from msgspec import Struct, msgpack

from engine.fleet.placement.liveness_lock import LivenessLock
from engine.fleet.placement.nearby_process import ProcessIdentity
from engine.fleet.wire.listener import Door


class SharedPlace(Struct, frozen=True):
    """Address of one epoch of a replica, with handles on its process for gateways on the same machine."""

    host: str
    port: int
    certificate: bytes
    """Certificate that the replica will show, in PEM."""
    machine: str
    """Name of the machine for people."""
    process: ProcessIdentity
    life_lock: int | None = None
    """Descriptor of the LivenessLock in the process."""
    actor: str = ""
    """Name of the actor on the Ray cluster; empty for a process without Ray."""

    @classmethod
    def own(cls, door: Door, life_lock: LivenessLock | None, actor: str = "") -> "SharedPlace":
        """Return the place of this process, which waits at `door`."""
        return cls(
            door.host,
            door.port,
            door.certificate,
            socket.gethostname(),
            ProcessIdentity.own(),
            life_lock.descriptor if life_lock is not None else None,
            actor,
        )


encode_place = msgpack.Encoder().encode
decode_place = msgpack.Decoder(SharedPlace).decode


class PublishedReplica(Struct, frozen=True):
    """One replica as the directory has it. place: None while its newest epoch has no address yet."""

    epoch: int
    place: SharedPlace | None


class ReplicaDirectory(Protocol):
    """Record of the shared replicas, common to all gateways. All methods raise OutageError while it is away.

    One gateway at a time keeps the replicas: that which took the lease first, for as long as it lives. A gateway that
    is taken for dead and wakes up later changes nothing, because each change is conditional on the lease.
    """

    async def read(self) -> dict[int, PublishedReplica]:
        """Return the published replicas by number."""

    async def reserve(self, number: int, after: int = 0) -> int | None:
        """Return the next epoch, unique over all replicas, whose process this gateway starts.

        The former epoch is withdrawn. None if another gateway keeps the replicas.

        after: the newest epoch that this gateway knows. The directory may have lost it in a fail-over.
        """

    async def publish(self, number: int, epoch: int, place: SharedPlace) -> bool:
        """Publish the address of an epoch that was reserved. Return False if it is not the newest one any more."""

    async def bring_back(self, number: int, epoch: int, place: SharedPlace) -> None:
        """Publish an epoch in use again which the directory has lost. A later epoch stays."""

    async def next_change(self, seconds: float) -> None:
        """Wait for a change of the directory, at most `seconds`."""


def token_of(secret: bytes, epoch: int) -> bytes:
    """Return the token of an epoch. All gateways have the secret, so the directory does not contain it."""
    return hmac.digest(secret, b"ebb-shared-replica:" + epoch.to_bytes(8, "little"), "sha256")
