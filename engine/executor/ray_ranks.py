"""Ranks as actors of a Ray cluster, in the placement group of the actor that has the engine.

The ranks of a stage are on one machine. The first stage is on the engine's.
"""

import hmac
import os
import secrets
import select
import signal
import socket
import time
from collections.abc import Collection
from dataclasses import replace
from multiprocessing.connection import Connection
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, Any, Final

import ray
from ray.exceptions import RayError
from ray.util.scheduling_strategies import PlacementGroupSchedulingStrategy

from engine.api.errors import EngineError
from engine.executor.core_shares import CoreShare
from engine.executor.far_pool import hang_up
from engine.executor.ray_rank_actor import START_SECONDS, RankActor, RankDoor, pipe_of
from engine.executor.ray_stage import StageSize, actor_options, machines
from engine.executor.started_rank import RankProcess, StartedRank
from engine.process.listening_socket import listen_on
from engine.worker.torch.ranks import MeetingAddress, open_store
from models.interface.partition import Partition

if TYPE_CHECKING:
    from engine.executor.rank_process import RankOrder

_SECRET_NBYTES: Final = 32
_HELLO_SECONDS: Final = 5.0
"""Time limit for the secret of a peer that has connected."""


class NearRank:
    """Actor of one rank on this machine. The methods are those of a process that was spawned."""

    exitcode: Final = None

    def __init__(self, actor: Any, pid: int) -> None:
        # Ray ends an actor that nothing refers to.
        self._actor = actor
        self._descriptor = os.pidfd_open(pid)
        self.pid: Final = pid

    def kill(self) -> None:
        """Kill the process, also a frozen one. Raise ValueError after `close`."""
        if self._descriptor < 0:
            raise ValueError("the rank is closed")
        try:
            signal.pidfd_send_signal(self._descriptor, signal.SIGKILL)
        except ProcessLookupError:
            return

    def join(self, timeout: float | None = None) -> None:
        """Wait until the process has ended, at most `timeout` seconds."""
        select.select([self._descriptor], [], [], timeout)

    def close(self) -> None:
        """Release the process, which has ended."""
        descriptor, self._descriptor = self._descriptor, -1
        os.close(descriptor)


class FarRank:
    """Actor of one rank on another machine, which ends with its connections and uses none of this machine's memory."""

    exitcode: Final = None

    def __init__(self, actor: Any, pid: int, pipes: Collection[Connection]) -> None:
        self._actor = actor
        self._pipes = pipes
        self._is_closed = False
        self.pid: Final = pid

    def kill(self) -> None:
        """End the connections, and have Ray kill the process, which may be frozen. Raise ValueError after `close`."""
        if self._is_closed:
            raise ValueError("the rank is closed")
        for pipe in self._pipes:
            hang_up(pipe)
        # Without the head of the cluster, the call may block.
        Thread(target=ray.kill, args=(self._actor,), name="ray-kill", daemon=True).start()

    def join(self, timeout: float | None = None) -> None:
        """Do nothing: the end of a process elsewhere frees nothing here."""

    def close(self) -> None:
        """Note that `kill` is no longer possible."""
        self._is_closed = True


class RayRanks:
    """Ranks in the placement group of this actor, which has a bundle for each stage. Satisfies RankStarter.

    meeting_place: see RankOrder.
    """

    def __init__(self, partition: Partition, folder: Path) -> None:
        """folder: empty, and of this user only."""
        self._partition = partition
        self._group = ray.util.get_current_placement_group()
        self._node: str = ray.get_runtime_context().get_node_id()
        self._host: str = ray.util.get_node_ip_address()
        self._stage_cores = CoreShare()
        self.meeting_place: Path | MeetingAddress = folder / "meeting"
        if partition.num_stages > 1:
            self._store, self.meeting_place = open_store(self._host, partition.num_processes)
        # All at once, since the start of a process takes a second or more.
        self._actors = {rank: self._created(rank) for rank in range(partition.num_processes)}

    def start(self, order: "RankOrder") -> StartedRank:
        """See RankStarter."""
        actor = self._actors.pop(order.rank)
        try:
            return self._begin(order, actor)
        except (RayError, OSError) as error:
            for each in (actor, *self._actors.values()):
                ray.kill(each)
            reason = str(error).strip().splitlines()[-1]
            raise EngineError(f"rank {order.rank} cannot be started by Ray: {reason}") from error

    def _created(self, rank: int) -> Any:
        """Return an actor for a rank, without waiting for its process."""
        stage, _ = self._partition.place(rank)
        part = {name: amount / self._partition.ranks for name, amount in self._group.bundle_specs[stage].items()}
        place = PlacementGroupSchedulingStrategy(self._group, stage)
        options = {**actor_options(part), "scheduling_strategy": place}
        return ray.remote(RankActor).options(max_restarts=0, **options).remote()

    def _share_of(self, actor: Any, node: str, stage: int, kind: str) -> CoreShare:
        """Take a part of the actor's machine `node` for a stage that computes on `kind`."""
        size = StageSize.of_bundle(self._group.bundle_specs[stage], kind)
        count = size.fitting(machines(kind)[node])
        share: CoreShare = ray.get(actor.share.remote(count), timeout=START_SECONDS)
        return share

    def _begin(self, order: "RankOrder", actor: Any) -> StartedRank:
        node, address, machine = ray.get(actor.machine.remote(), timeout=START_SECONDS)
        is_far = node != self._node
        if isinstance(order.meeting_place, MeetingAddress):
            order = replace(order, meeting_place=replace(order.meeting_place, own=address))
        stage, rank = self._partition.place(order.rank)
        if order.rank == 0:
            # The first stage has the CPUs of the engine.
            self._stage_cores = CoreShare(tuple(os.sched_getaffinity(0)), order.config.parallel.cpu_sharers)
        elif rank == 0:
            self._stage_cores = self._share_of(actor, node, stage, order.config.device.kind)
        secret = secrets.token_bytes(_SECRET_NBYTES)
        with listen_on(self._host) as listener:
            door = RankDoor(self._host, listener.getsockname()[1], secret)
            started = actor.start.remote(order, door, self._stage_cores, is_far=is_far)
            pid: int = ray.get(started, timeout=START_SECONDS)
            # The actor has connected, so this does not wait for it.
            pipe = _admit(listener, secret)
            pool_pipe = _admit(listener, secret) if is_far else None
        if pool_pipe is None:
            process: RankProcess = NearRank(actor, pid)
            return StartedRank(process, pipe)
        return StartedRank(FarRank(actor, pid, (pipe, pool_pipe)), pipe, pool_pipe, machine)


def _admit(listener: socket.socket, secret: bytes) -> Connection:
    """Return the next connection that begins with `secret`. Raise OSError after START_SECONDS."""
    passes_at = time.monotonic() + START_SECONDS
    while True:
        listener.settimeout(max(0.0, passes_at - time.monotonic()))
        peer, _ = listener.accept()
        peer.settimeout(_HELLO_SECONDS)
        try:
            if hmac.compare_digest(peer.recv(_SECRET_NBYTES, socket.MSG_WAITALL), secret):
                return pipe_of(peer)
        except OSError:
            pass
        peer.close()
