"""Actor that runs one epoch of one replica on a machine of a Ray cluster.

Ray passes the class by its name, so that Ebb must be installed on every machine.
"""

import asyncio
import os
import socket
from dataclasses import replace
from functools import partial
from threading import Thread

import ray
from msgspec import structs

from engine.fleet.core_shares import core_shares
from engine.fleet.door import Door, DoorListener
from engine.fleet.order import ReplicaOrder, decode_order
from engine.fleet.process import Connect, run_replica
from engine.fleet.ray_cluster import check_private
from engine.fleet.shares import shares_of
from engine.fleet.tls import Identity


class ReplicaActor:
    """Process of one replica. The engine has a thread and an event loop of its own, away from Ray's."""

    def __init__(self) -> None:
        self._identity = Identity.new()

    async def machine(self) -> tuple[str, str]:
        """Return the id of the actor's node, and the name of its machine for people."""
        return ray.get_runtime_context().get_node_id(), socket.gethostname()

    async def open(self, order: bytes, share: int, num_shares: int, gateway: bytes) -> Door:
        """Begin the replica, and return the place where it waits for the gateway.

        order: see `order`. The sizes in its configuration are those of a whole machine.
        share, num_shares: which part of the machine's cores and memory the replica has.
        gateway: certificate that the gateway will show.
        """
        host = ray.util.get_node_ip_address()
        check_private(host)
        listener = DoorListener(host)
        door = listener.door(self._identity.certificate)
        admit = partial(listener.admit, self._identity.accepting(gateway))
        part = _part_of(decode_order(order), share, num_shares)
        Thread(target=_run, args=(part, admit), name="replica", daemon=True).start()
        return door

    async def ended(self) -> None:
        """Never return: Ray fails the call when the actor or its machine is gone."""
        await asyncio.Event().wait()


def _part_of(order: ReplicaOrder, share: int, num_shares: int) -> ReplicaOrder:
    """Return the order with a part of this machine's cores, and of the sizes of its configuration."""
    cpus = core_shares(os.sched_getaffinity(0), num_shares)[share]
    # The file is the gateway's, which sends what it says.
    config = shares_of(order.config, num_shares)[share]
    config = replace(config, tenants_file=None, ranks_on_ray=config.num_processes > 1)
    return structs.replace(order, cpus=cpus, config=config)


def _run(order: ReplicaOrder, admit: Connect) -> None:
    try:
        run_replica(order, admit)
    finally:
        # Ray keeps a process whose thread has failed.
        os._exit(1)
