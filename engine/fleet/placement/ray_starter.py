"""Shared replicas as actors on the machines of a Ray cluster, which outlive the gateway that started them."""

import asyncio
import secrets
from collections.abc import Sequence
from contextlib import suppress
from threading import Thread
from typing import Any, Final

import ray
from ray.exceptions import RayError

from engine.api.errors import EngineError
from engine.executor.ray_stage import actor_options, machines, stage_size
from engine.fleet.placement.interface import MachinePart
from engine.fleet.placement.order import ReplicaOrder, encode_order
from engine.fleet.placement.ray_actor import ReplicaActor
from engine.fleet.placement.ray_cluster import called
from engine.fleet.placement.ray_placement import in_short, kill_actor, located
from engine.fleet.placement.shared_place import SharedPlace, decode_place

END_SECONDS: Final = 15.0
"""Time limit of the end of an actor. Ray kills a frozen one after five seconds."""


class RayStarter:
    """Actors on the cluster that this process is connected to, all of the same size."""

    def __init__(self, count: int, kind: str) -> None:
        """Divide the CPUs and devices of the cluster among `count` replicas, which compute on devices of `kind`.

        Raise EngineError if there are too few.
        """
        self._size = stage_size(machines(kind).values(), count, stages=1, ranks=1, kind=kind)

    def shares(self, count: int, accelerators: Sequence[str]) -> list[MachinePart]:  # noqa: ARG002
        """See SharedStarter. Other machines' CPUs are divided there, and their devices by Ray."""
        return [MachinePart()] * count

    async def start(self, order: ReplicaOrder) -> SharedPlace:
        """See SharedStarter."""
        name = f"replica-{secrets.token_hex(8)}"
        actor = await called(lambda: self._create(name))
        try:
            _, num_shares = await located(actor, order.index, self._size)
            return decode_place(await actor.open_to_all.remote(encode_order(order), num_shares, name))
        except RayError as error:
            kill_actor(actor)
            raise EngineError(f"replica {order.index} cannot be started by Ray: {in_short(error)}") from error
        except BaseException:
            kill_actor(actor)
            raise

    def _create(self, name: str) -> Any:
        """Return an actor without waiting for a machine. The end of this process does not end the actor."""
        return (
            ray.remote(ReplicaActor)
            .options(
                name=name,
                lifetime="detached",
                max_restarts=0,
                max_concurrency=8,
                scheduling_strategy="SPREAD",
                **actor_options(self._size.bundle),
            )
            .remote()
        )

    def discard(self, place: SharedPlace) -> None:
        """See SharedStarter."""

        def kill() -> None:
            # ValueError: it has ended.
            with suppress(ValueError, RayError):
                ray.kill(ray.get_actor(place.actor))

        # Without the head of the cluster, both calls may block.
        Thread(target=kill, name="ray-kill", daemon=True).start()

    async def end(self, place: SharedPlace) -> None:
        """See SharedStarter. Without the head of the cluster, the actor is left to end by itself."""
        with suppress(ValueError, RayError, TimeoutError):
            async with asyncio.timeout(END_SECONDS):
                actor = await called(lambda: ray.get_actor(place.actor))
                kill_actor(actor)
                await actor.ended.remote()
