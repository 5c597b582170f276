"""Replicas as actors on the machines of a Ray cluster.

Ray chooses the machine and gives notice of the end of a process or a machine. Everything else goes over the project's
own connection, so that answers do not need Ray.
"""

import asyncio
from collections.abc import Callable, Sequence
from threading import Thread
from typing import Any, Final

import ray
from ray.exceptions import RayError
from ray.util import placement_group, remove_placement_group
from ray.util.scheduling_strategies import PlacementGroupSchedulingStrategy

from engine.api.errors import EngineError
from engine.config import EngineConfig
from engine.executor.ray_stage import StageSize, actor_options, machines, stage_size
from engine.fleet.placement.interface import MachinePart
from engine.fleet.placement.order import ReplicaOrder, encode_order
from engine.fleet.placement.ray_actor import ReplicaActor
from engine.fleet.placement.ray_cluster import called
from engine.fleet.wire.listener import Door
from engine.fleet.wire.tls import Identity

PLACE_SECONDS: Final = 60.0
"""Time limit of finding a machine and starting a process on it."""


class RayReplica:
    """An actor whose replica waits for the gateway, or is connected to it.

    machine, pid, epoch, token: see PlacedReplica.
    """

    def __init__(
        self,
        order: ReplicaOrder,
        actor: Any,
        machine: str,
        door: Door,
        identity: Identity,
        on_end: Callable[[], None],
    ) -> None:
        """Wrap an actor.

        on_end: called when the actor has ended.
        """
        self._on_end = on_end
        self._actor = actor
        self._door = door
        self._identity = identity
        self.machine = machine
        self.pid = door.pid
        self.epoch, self.token = order.epoch, order.token

    async def connect(self, protocol: asyncio.Protocol) -> None:
        """See PlacedReplica."""
        context = self._identity.connecting(self._door.certificate)
        loop = asyncio.get_running_loop()
        await loop.create_connection(lambda: protocol, self._door.host, self._door.port, ssl=context)

    def retire(self) -> None:
        """See PlacedReplica."""

    def kill(self) -> None:
        """See PlacedReplica. The machine's raylet kills a frozen process after some seconds."""
        kill_actor(self._actor)

    async def died(self) -> None:
        """See PlacedReplica. Ray has no sooner notice than the connection."""
        await asyncio.Event().wait()

    async def ended(self) -> str:
        """See PlacedReplica."""
        try:
            await self._actor.ended.remote()
        except RayError as error:
            return f"is gone, as Ray reports: {in_short(error)}"
        finally:
            self._on_end()
        return "has left"


class RayPlacement:
    """Actors on the cluster that this process is connected to, all stages of the same size.

    is_shared: see Placement.
    """

    is_shared = False

    def __init__(self, count: int, config: EngineConfig) -> None:
        """Divide the CPUs and devices of the cluster among the stages of `count` replicas.

        Raise EngineError if there are too few.
        """
        self._size = stage_size(
            machines(config.device.kind).values(),
            count,
            stages=config.parallel.pipeline_parallel_size,
            ranks=config.parallel.tensor_parallel_size,
            kind=config.device.kind,
        )
        self._identity = Identity.new()

    def shares(self, count: int, accelerators: Sequence[str]) -> list[MachinePart]:  # noqa: ARG002
        """See Placement. Other machines' CPUs are divided there, and their devices by Ray."""
        return [MachinePart()] * count

    async def start(self, order: ReplicaOrder) -> RayReplica:
        """See Placement.

        A replica of several ranks has a placement group, with each stage on one machine and all of them on as few as
        have room.
        """
        actor, group = await called(lambda: self._create(order.config))
        try:
            return await self._opened(actor, group, order)
        except RayError as error:
            kill_actor(actor, group)
            raise EngineError(f"replica {order.index} cannot be started by Ray: {in_short(error)}") from error
        except BaseException:
            kill_actor(actor, group)
            raise

    def _create(self, config: EngineConfig) -> tuple[Any, Any]:
        """Return an actor without waiting for a machine, and the placement group of its ranks; None for one rank."""
        group = None
        options = {**actor_options(self._size.bundle), "scheduling_strategy": "SPREAD"}
        if config.parallel.num_processes > 1:
            group = placement_group([self._size.bundle] * config.parallel.pipeline_parallel_size, strategy="PACK")
            options = {"num_cpus": 0, "scheduling_strategy": PlacementGroupSchedulingStrategy(group, 0)}
        # A replica that dies has another epoch, which only the gateway can give.
        return ray.remote(ReplicaActor).options(max_restarts=0, max_concurrency=8, **options).remote(), group

    async def _opened(self, actor: Any, group: Any, order: ReplicaOrder) -> RayReplica:
        machine, num_shares = await located(actor, order.index, self._size)
        door = await actor.open.remote(encode_order(order), num_shares, self._identity.certificate)
        return RayReplica(order, actor, machine, door, self._identity, lambda: kill_actor(actor, group))


async def located(actor: Any, index: int, size: StageSize) -> tuple[str, int]:
    """Wait until an actor of replica `index`, with stages of `size`, has a machine.

    Return the machine's name, and the number of such stages for which it has room. Raise EngineError if no machine has
    room.
    """
    try:
        async with asyncio.timeout(PLACE_SECONDS):
            node, machine = await actor.machine.remote()
            found = (await called(lambda: machines(size.kind))).get(node)
            return machine, size.fitting(found) if found is not None else 1
    except TimeoutError:
        raise EngineError(
            f"no machine of the Ray cluster had {size} for replica {index} within {PLACE_SECONDS:g} s. "
            "Add a machine, or lower --replicas."
        ) from None


def kill_actor(actor: Any, group: Any = None) -> None:
    """Have Ray kill an actor and its ranks, on a thread that waits for the head of the cluster if that is lost."""

    def kill() -> None:
        ray.kill(actor)
        if group is not None:
            remove_placement_group(group)

    Thread(target=kill, name="ray-kill", daemon=True).start()


def in_short(error: RayError) -> str:
    """Return the last line of Ray's report, up to its first full stop."""
    return str(error).strip().splitlines()[-1].partition(". ")[0]
