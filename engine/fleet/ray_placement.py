"""Replicas as actors on the machines of a Ray cluster.

Ray chooses the machine and gives notice of the end of a process or a machine. Everything else goes over the project's
own connection, so that answers do not need Ray.
"""

import asyncio
from collections import defaultdict
from collections.abc import Callable
from typing import Any, Final

import ray
from ray.exceptions import RayError

from engine.errors import EngineError
from engine.fleet.door import Door
from engine.fleet.order import ReplicaOrder, encode_order
from engine.fleet.ray_actor import ReplicaActor
from engine.fleet.ray_cluster import cpus_by_node, cpus_per_replica
from engine.fleet.tls import Identity

PLACE_SECONDS: Final = 60.0
"""Time limit of finding a machine and starting a process on it."""


class RayReplica:
    """An actor whose replica waits for the gateway, or is connected to it.

    machine, pid: see PlacedReplica.
    """

    def __init__(self, actor: Any, machine: str, door: Door, identity: Identity, on_end: Callable[[], None]) -> None:
        """Wrap an actor.

        on_end: called when the actor has ended.
        """
        self._on_end = on_end
        self._actor = actor
        self._door = door
        self._identity = identity
        self.machine = machine
        self.pid = door.pid

    async def connect(self, protocol: asyncio.Protocol) -> None:
        """See PlacedReplica."""
        context = self._identity.connecting(self._door.certificate)
        loop = asyncio.get_running_loop()
        await loop.create_connection(lambda: protocol, self._door.host, self._door.port, ssl=context)

    def kill(self) -> None:
        """See PlacedReplica. The machine's raylet kills a frozen process after some seconds."""
        _kill(self._actor)

    async def died(self) -> None:
        """See PlacedReplica. Ray has no sooner notice than the connection."""
        await asyncio.Event().wait()

    async def ended(self) -> str:
        """See PlacedReplica."""
        try:
            await self._actor.ended.remote()
        except RayError as error:
            return f"is gone, as Ray reports: {_in_short(error)}"
        finally:
            self._on_end()
        return "has left"


class RayPlacement:
    """Actors on the cluster that this process is connected to, all with the same number of CPUs."""

    def __init__(self, count: int) -> None:
        """Divide the CPUs of the cluster among `count` replicas. Raise EngineError if there are too few."""
        cpus = cpus_by_node()
        self._cpus = cpus_per_replica(list(cpus.values()), count)
        self._identity = Identity.new()
        self._taken: defaultdict[str, set[int]] = defaultdict(set)

    def shares(self, count: int) -> list[tuple[int, ...]]:
        """See Placement. Other machines' CPUs are divided there."""
        return [()] * count

    async def start(self, order: ReplicaOrder) -> RayReplica:
        """See Placement."""
        # Without its head, the cluster blocks the calling thread.
        actor = await asyncio.to_thread(self._create)
        try:
            return await self._opened(actor, order)
        except RayError as error:
            _kill(actor)
            raise EngineError(f"replica {order.index} cannot be started by Ray: {_in_short(error)}") from error
        except BaseException:
            _kill(actor)
            raise

    def _create(self) -> Any:
        # A replica that dies has another epoch, which only the gateway can give.
        options = {"num_cpus": self._cpus, "max_restarts": 0, "max_concurrency": 8, "scheduling_strategy": "SPREAD"}
        return ray.remote(ReplicaActor).options(**options).remote()

    async def _opened(self, actor: Any, order: ReplicaOrder) -> RayReplica:
        try:
            async with asyncio.timeout(PLACE_SECONDS):
                node, machine = await actor.machine.remote()
                num_shares = (await asyncio.to_thread(cpus_by_node))[node] // self._cpus
        except TimeoutError:
            raise EngineError(
                f"no machine of the Ray cluster had {self._cpus} CPUs for replica {order.index} within "
                f"{PLACE_SECONDS:g} s. Add a machine, or lower --replicas."
            ) from None
        taken = self._taken[node]
        share = next((each for each in range(num_shares) if each not in taken), 0)
        taken.add(share)
        try:
            door = await actor.open.remote(encode_order(order), share, num_shares, self._identity.certificate)
        except BaseException:
            taken.discard(share)
            raise
        return RayReplica(actor, machine, door, self._identity, on_end=lambda: taken.discard(share))


def _kill(actor: Any) -> None:
    """Have Ray kill an actor. Without its head, the cluster blocks the calling thread."""
    asyncio.get_running_loop().run_in_executor(None, ray.kill, actor)


def _in_short(error: RayError) -> str:
    """Return the last line of Ray's report, up to its first full stop."""
    return str(error).strip().splitlines()[-1].partition(". ")[0]
