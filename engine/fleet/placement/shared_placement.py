"""Replicas that the gateways of one database share.

One gateway, the keeper, starts them (`shared_starter`) and publishes them in the directory. The others connect to what
the directory names. If the keeper dies, the replicas live on, and the next gateway that misses one is the
keeper from then on.

    named and reachable ──> connect
    named, but this gateway lacks descriptors, memory or ports ──> it tries again later
    named, not reachable ──> the keeper kills its process and starts the next epoch, the others wait for that
    not named            ──> the same, without a process to kill
    later epoch named    ──> every gateway leaves the former epoch, also one that still reaches it
"""

import asyncio
import contextlib
import errno
import logging
import os
import time
from collections.abc import Callable, Coroutine, Sequence
from typing import Any, Final

from msgspec import structs

from engine.api.errors import EngineError, OutageError
from engine.fleet.placement.interface import MachinePart
from engine.fleet.placement.liveness_lock import LivenessLock, death_noticed
from engine.fleet.placement.nearby_process import NearbyProcess
from engine.fleet.placement.order import ReplicaOrder
from engine.fleet.placement.shared_place import PublishedReplica, ReplicaDirectory, SharedPlace, token_of
from engine.fleet.placement.shared_starter import SharedStarter
from engine.fleet.wire.tls import Identity
from engine.process.restart_budget import RestartBudget

REACH_SECONDS: Final = (1.0, 3.0)
"""Time limits of two attempts to connect to a replica that lives. A frozen one completes no handshake.

The second attempt is for a replica, or a gateway, that waits for a core: a kill would cost all gateways their answers.
"""

OWN_LACKS: Final = frozenset((errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM, errno.EADDRNOTAVAIL))
"""Errors of a connection that say what this process or its machine lacks, and nothing about the replica."""

LOOK_SECONDS: Final = 1.0
"""Time between two looks at the directory without a notice, while a replica is missed."""

FOLLOW_SECONDS: Final = 10.0
"""The same while a replica serves."""

PAUSES: Final = (0.0, 0.0, 1.0, 4.0, 10.0)
BUDGET_SECONDS: Final = 600.0

logger = logging.getLogger(__name__)


class SharedReplica:
    """One epoch of a replica, as one gateway sees it.

    machine, pid, epoch, token: see PlacedReplica.
    """

    def __init__(
        self,
        place: SharedPlace,
        epoch: int,
        token: bytes,
        identity: Identity,
        *,
        retire: Callable[[], None],
        replaced: Callable[[], Coroutine[Any, Any, None]],
    ) -> None:
        """Describe the epoch at `place`.

        retire: notes that the epoch is drained.
        replaced: waits until the directory names the place of a later epoch.
        """
        self.machine = place.machine
        self.pid = place.process.pid
        self.epoch = epoch
        self.token = token
        self._place = place
        self._identity = identity
        self._retire = retire
        self._replaced = replaced
        self._left = asyncio.Event()

    async def connect(self, protocol: asyncio.Protocol) -> None:
        """See PlacedReplica."""
        await _connect(self._place, self._identity, protocol)

    def retire(self) -> None:
        """See PlacedReplica."""
        self._retire()

    def kill(self) -> None:
        """Leave the replica. Only the placement decides that a process is of no use to any gateway."""
        self._left.set()

    async def died(self) -> None:
        """See PlacedReplica. Only processes of the same machine give this notice."""
        await death_noticed(_life_lock(self._place), f"life-{self.pid}")

    async def ended(self) -> str:
        """Wait until this gateway has no use for the process any more, and return in words what happened.

        A process that the keeper can neither reach nor end may still serve other gateways. They leave it for the next
        epoch as well.
        """
        left, replaced = asyncio.create_task(self._left.wait()), asyncio.create_task(self._replaced())
        waits: list[asyncio.Task[Any]] = [left, replaced]
        if (process := NearbyProcess.find(self._place.process)) is not None:
            waits.append(asyncio.create_task(process.ended()))
        try:
            done, _ = await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for each in waits:
                each.cancel()
        if self._left.is_set():
            return "was left"
        if replaced in done:
            return "was replaced"
        return "has ended"


class SharedPlacement:
    """Processes that outlive this gateway, found through a directory.

    is_shared: see Placement.
    """

    is_shared = True

    def __init__(
        self,
        directory: ReplicaDirectory,
        secret: bytes,
        starter: SharedStarter,
        progress: Callable[[str], None] = lambda _: None,
    ) -> None:
        """Prepare to find or start replicas.

        secret: common to all gateways.
        starter: for the replicas that this gateway starts.
        progress: receives a sentence while another server has to start a replica.
        """
        self._directory = directory
        self._secret = secret
        self._starter = starter
        self._progress = progress
        self._identity = Identity.new()
        self._budgets: dict[int, RestartBudget] = {}
        self._retired: set[int] = set()
        self._newest = 0

    def shares(self, count: int, accelerators: Sequence[str]) -> list[MachinePart]:
        """See Placement."""
        return self._starter.shares(count, accelerators)

    async def start(self, order: ReplicaOrder) -> SharedReplica:
        """Find the replica that the directory names, or start one if this gateway is or becomes the keeper.

        Raise EngineError if a replica cannot be started, or if this process cannot connect to any.
        """
        is_waiting = False
        while True:
            with contextlib.suppress(OutageError):
                published = await self._published(order.index)
                if published is not None and published.place is not None and await self._is_reachable(published):
                    if await self._published(order.index) != published:
                        # The keeper could not reach it, and starts the next epoch.
                        continue
                    return self._replica(order.index, published.place, published.epoch)
                epoch = await self._directory.reserve(order.index, self._newest)
                if epoch is not None:
                    self._newest = max(self._newest, epoch)
                    if published is not None and published.place is not None:
                        await self._starter.end(published.place)
                    was_drained = published is not None and published.epoch in self._retired
                    await self._pause(order.index, was_drained=was_drained)
                    if (place := await self._begin(order, epoch)) is not None:
                        return self._replica(order.index, place, epoch)
                elif not is_waiting:
                    is_waiting = True
                    self._progress(f"waiting for replica {order.index}, which another server starts")
            await self._directory.next_change(LOOK_SECONDS)

    async def _published(self, number: int) -> PublishedReplica | None:
        published = await self._directory.read()
        self._newest = max([self._newest, *(each.epoch for each in published.values())])
        return published.get(number)

    def _replica(self, number: int, place: SharedPlace, epoch: int) -> SharedReplica:
        return SharedReplica(
            place,
            epoch,
            token_of(self._secret, epoch),
            self._identity,
            retire=lambda: self._retired.add(epoch),
            replaced=lambda: self._replaced(number, epoch, place),
        )

    async def _replaced(self, number: int, epoch: int, place: SharedPlace) -> None:
        """Wait until the directory names the place of a later epoch of replica `number`."""
        while True:
            try:
                published = await self._published(number)
                if published is None or published.epoch < epoch or published == PublishedReplica(epoch, None):
                    logger.warning("the directory lost epoch %d of replica %d, and gets it back", epoch, number)
                    await self._directory.bring_back(number, epoch, place)
                elif published.place is not None and published.epoch > epoch:
                    return
            except OutageError:
                # That says nothing about the replica, and is logged where the database is watched.
                pass
            except Exception:
                logger.exception("the directory of the replicas cannot be read")
            await self._directory.next_change(FOLLOW_SECONDS)

    async def _is_reachable(self, published: PublishedReplica) -> bool:
        """Return whether a replica lives. Raise EngineError if this process cannot find out now."""
        if (place := published.place) is None or published.epoch in self._retired:
            return False
        for seconds in REACH_SECONDS:
            try:
                async with asyncio.timeout(seconds):
                    transport = await _connect(place, self._identity, asyncio.Protocol())
            except TimeoutError:
                continue
            except OSError as error:
                if error.errno in OWN_LACKS:
                    raise EngineError(f"this server cannot open a connection: {error.strerror or error}") from error
                return False
            transport.abort()
            return True
        return False

    async def _pause(self, index: int, *, was_drained: bool) -> None:
        """Wait for as long as the restart budget of a replica says. Raise EngineError if the budget is spent.

        The first start by this gateway is no restart, and a drain is no loss.
        """
        if index not in self._budgets:
            self._budgets[index] = RestartBudget(PAUSES, BUDGET_SECONDS)
        elif not was_drained:
            budget = self._budgets[index]
            pause = budget.spend(time.monotonic())
            if pause is None:
                raise EngineError(
                    f"replica {index} was restarted too often: {budget.most} times within {BUDGET_SECONDS:g} s. The "
                    "log has the reasons."
                )
            await asyncio.sleep(pause)

    async def _begin(self, order: ReplicaOrder, epoch: int) -> SharedPlace | None:
        """Start an epoch and publish it. Return None if another gateway keeps the replicas by now."""
        own = structs.replace(order, epoch=epoch, token=token_of(self._secret, epoch))
        place = await self._starter.start(own)
        is_published = False
        try:
            is_published = await self._directory.publish(order.index, epoch, place)
        finally:
            if not is_published:
                self._starter.discard(place)
        return place if is_published else None


async def _connect(place: SharedPlace, identity: Identity, protocol: asyncio.Protocol) -> asyncio.Transport:
    transport, _ = await asyncio.get_running_loop().create_connection(
        lambda: protocol, place.host, place.port, ssl=identity.connecting(place.certificate)
    )
    return transport


def _life_lock(place: SharedPlace) -> LivenessLock | None:
    """Return the lock of a process of this machine; None if it cannot be opened."""
    if place.life_lock is None or not place.process.is_here:
        return None
    try:
        descriptor = os.open(f"/proc/{place.process.pid}/fd/{place.life_lock}", os.O_RDWR)
    except OSError:
        return None
    try:
        return LivenessLock(descriptor)
    finally:
        os.close(descriptor)
