"""Actor that runs one epoch of one replica on a machine of a Ray cluster.

Ray passes the class by its name, so that Ebb must be installed on every machine.
"""

import asyncio
import os
import socket
from functools import partial
from threading import Thread, Timer
from typing import Final

import ray
from msgspec import structs

from engine.executor.core_shares import core_shares
from engine.executor.machine_share import MachineShare
from engine.fleet.placement.liveness_lock import LivenessLock
from engine.fleet.placement.order import ReplicaOrder, decode_order
from engine.fleet.placement.process import Connect, run_replica
from engine.fleet.placement.ray_cluster import check_private
from engine.fleet.placement.shared_place import SharedPlace, encode_place
from engine.fleet.placement.shares import shares_of
from engine.fleet.wire.listener import Door, DoorListener
from engine.fleet.wire.tls import Identity

UNOPENED_SECONDS: Final = 60.0
"""Time after which an actor ends that no gateway has opened: the one that had Ray create it may be gone."""


class ReplicaActor:
    """Process of one replica. The engine has its own thread and event loop, away from Ray's."""

    def __init__(self) -> None:
        self._identity = Identity.new()
        self._share: MachineShare | None = None
        self._unopened = Timer(UNOPENED_SECONDS, os._exit, (1,))
        self._unopened.daemon = True
        self._unopened.start()

    async def machine(self) -> tuple[str, str]:
        """Return the id of the actor's node, and the name of its machine for people."""
        return _node(), socket.gethostname()

    async def open(self, order: bytes, num_shares: int, gateway: bytes) -> Door:
        """Begin the replica, and return the place where it waits for the gateway.

        order: see `order`. The sizes in its configuration are those of a whole machine.
        num_shares: equal parts of the machine's cores and memory, of which the replica has one.
        gateway: certificate that the gateway will show.
        """
        listener = DoorListener(_host())
        door = listener.door(self._identity.certificate)
        admit = partial(listener.admit, self._identity.accepting(gateway))
        _begin(self._part(order, num_shares), admit)
        self._unopened.cancel()
        return door

    async def open_to_all(self, order: bytes, num_shares: int, name: str) -> bytes:
        """Begin a replica that several gateways share, and return its SharedPlace, encoded.

        order, num_shares: see `open`.
        name: of this actor.
        """
        listener, life_lock = DoorListener(_host()), LivenessLock.make()
        place = SharedPlace.own(listener.door(self._identity.certificate), life_lock, name)
        admit = partial(listener.admit_all, self._identity.accepting_all())
        _begin(self._part(order, num_shares), admit, life_lock, is_shared=True)
        self._unopened.cancel()
        return encode_place(place)

    def _part(self, order: bytes, num_shares: int) -> ReplicaOrder:
        """Return the order with a part of this machine's cores, and of the sizes of its configuration."""
        self._share = MachineShare(_node(), num_shares)
        whole, share = decode_order(order), self._share.number
        cores = core_shares(os.sched_getaffinity(0), num_shares)[share]
        # The file is the gateway's, which sends what it says.
        config = shares_of(whole.config, num_shares)[share]
        on_ray = config.parallel.num_processes > 1
        config = config.with_fields(tenants_file=None, ranks_on_ray=on_ray, cpu_sharers=cores.sharers)
        return structs.replace(whole, cpus=cores.cpus, config=config)

    async def ended(self) -> None:
        """Never return: Ray fails the call when the actor or its machine is gone."""
        await asyncio.Event().wait()


def _node() -> str:
    node: str = ray.get_runtime_context().get_node_id()
    return node


def _host() -> str:
    """Return the address of this machine in the cluster. Raise EngineError if it is public."""
    host: str = ray.util.get_node_ip_address()
    check_private(host)
    return host


def _begin(
    order: ReplicaOrder, admit: Connect, life_lock: LivenessLock | None = None, *, is_shared: bool = False
) -> None:
    """Run the replica on a separate thread, which holds `life_lock` until it ends."""

    def run() -> None:
        try:
            if life_lock is not None:
                life_lock.hold()
            run_replica(order, admit, is_shared=is_shared)
        finally:
            # Ray keeps a process whose thread has failed.
            os._exit(1)

    Thread(target=run, name="replica", daemon=True).start()
