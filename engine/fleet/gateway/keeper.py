"""Owner of the replicas, from their first start to the end of the server.

starting ──ready──> ok ──socket closed, or silent──> lost ──pause──> starting, with the next epoch
                                                          └─budget spent──> failed ──long pause──> starting
"""

import asyncio
import itertools
import logging
import os
import sys
import time
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from msgspec import structs

from engine.api.errors import ConflictError, EngineError, NotFoundError, NotReadyError
from engine.config import EngineConfig
from engine.fleet.gateway.answer import RemoteAnswer
from engine.fleet.gateway.link import CLOSED, Link
from engine.fleet.gateway.moves import MOVE_SECONDS
from engine.fleet.placement.interface import MachinePart, PlacedReplica, Placement
from engine.fleet.placement.order import ReplicaOrder
from engine.fleet.replica.server import BEAT_SECONDS
from engine.fleet.wire.handshake import new_token
from engine.fleet.wire.messages import Drain, Farewell, ReplicaFacts
from engine.fleet.wire.report import Report
from engine.loop.stats import EngineStats, ReplicaState
from engine.process.restart_budget import RestartBudget
from models.adapters.adapter import Adapter

SILENT_TICKS: Final = 4
"""Ticks of BEAT_SECONDS without a frame after which a replica that serves counts as frozen."""

STARTING_TICKS: Final = 480
"""The same for a replica that starts: an import may hold its interpreter for a while."""

PAUSES: Final = (0.0, 0.0, 1.0, 4.0, 10.0)
BUDGET_SECONDS: Final = 600.0
"""Window of each replica's restart budget, and the pause after it is spent."""

AGAIN_LATER_SECONDS: Final = 5.0
"""Pause after a replica could not be started. What is missing may come back, so this is tried as long as the server
runs.
"""

CONTINUED_BEATS: Final = 40
"""Most beats for which the start of a replica waits while others continue the answers of its former epoch: 10 s."""

AGAIN_SECONDS: Final = 1.0
"""Pause after a shared replica closed the connection before it served."""

FLUSH_SECONDS: Final = 5.0
"""Time beyond the drain in which a replica flushes its tiers and ends."""

DIED: Final = "its process died"

logger = logging.getLogger(__name__)


@dataclass(slots=True, kw_only=True)
class _Slot:
    """One replica over all its epochs.

    config: configuration of the engine in each epoch.
    link: of the newest epoch; None before the first one.
    budget: of the restarts of private replicas; the placement has that of shared ones.
    is_given_up: whether the budget is spent.
    watch: waits for the death of the process that serves.
    reaper: waits for the end of the newest process.
    """

    index: int
    config: EngineConfig
    share: MachinePart
    link: Link | None = None
    placed: PlacedReplica | None = None
    restarts: int = 0
    last_loss: str = ""
    budget: RestartBudget = field(default_factory=lambda: RestartBudget(PAUSES, BUDGET_SECONDS))
    is_given_up: bool = False
    watch: asyncio.Task[None] | None = field(default=None, repr=False)
    reaper: asyncio.Task[None] | None = field(default=None, repr=False)

    @property
    def state(self) -> ReplicaState:
        """State of the replica for people."""
        link = self.link
        is_ready = link is not None and link.is_ready
        return ReplicaState(
            index=self.index,
            state="failed" if self.is_given_up else "ok" if is_ready else "starting",
            epoch=link.epoch if link is not None else 0,
            machine=self.placed.machine if self.placed is not None else None,
            pid=self.placed.pid if self.placed is not None and link is not None and not link.is_lost else None,
            answers=link.num_answers if link is not None else 0,
            restarts=self.restarts,
            last_loss=self.last_loss,
            role=self.config.parallel.role,
            prefilled_tokens=link.stats.tokens.prefilled if link is not None and link.stats is not None else 0,
        )


class ReplicaKeeper:
    """Owner of the replicas' processes and links. Every method belongs to the event loop's thread.

    model: fingerprint of the model that replicas must have; empty for any.
    on_answers: receives the link of a replica that was lost, and its answers.
    on_link: called with each link before its replica is taken into service.
    on_gone: called with each link whose replica was lost.
    on_drained: called with each link whose answers are to move to other replicas, before the replica ends.
    on_report: receives the reports of the replicas.
    on_give_up: called with a sentence once the restart budgets of all replicas are spent.
    """

    def __init__(
        self,
        configs: Sequence[EngineConfig],
        placement: Placement,
        progress: Callable[[str], None],
        model: str,
        *,
        on_link: Callable[[Link], None],
        on_gone: Callable[[Link], None],
        on_drained: Callable[[Link], None],
        on_report: Callable[[Link, Report], None],
        on_answers: Callable[[Link, Sequence[RemoteAnswer]], None],
        on_give_up: Callable[[str], None],
    ) -> None:
        self._placement = placement
        self._progress = progress
        self._model = model
        self._on_link = on_link
        self._on_gone = on_gone
        self._on_drained = on_drained
        self._on_report = on_report
        self._on_answers = on_answers
        self._on_give_up = on_give_up
        self._token = new_token()
        shares = placement.shares(len(configs), configs[0].device.accelerators)
        self._slots = [_Slot(index=index, config=config, share=shares[index]) for index, config in enumerate(configs)]
        self._epochs = itertools.count(1)
        self._changed = asyncio.Event()
        self._tasks: set[asyncio.Task[None]] = set()
        self._facts: ReplicaFacts | None = None
        self._startup_failure = ""
        self._is_starting = True
        self._is_stopping = False

    @property
    def facts(self) -> ReplicaFacts:
        """Properties that all replicas share, once the first one is ready."""
        assert self._facts is not None
        return self._facts

    def adopt_adapters(self, adapters: Sequence[Adapter]) -> None:
        """Take over what the replicas have loaded by now. Replicas that start from now on load the same."""
        in_order = tuple(sorted(adapters, key=lambda each: each.name))
        self._facts = structs.replace(self.facts, adapters=in_order)

    @property
    def max_model_len(self) -> int:
        """Tokens of prompt and answer together that every replica that serves has memory for."""
        serving = [link.facts.max_model_len for link in self.ready if link.facts is not None]
        return min(serving, default=self.facts.max_model_len)

    @property
    def ready(self) -> list[Link]:
        """Links of the replicas that serve."""
        return [slot.link for slot in self._slots if slot.link is not None and slot.link.is_ready]

    @property
    def stats(self) -> list[EngineStats]:
        """Newest statistics of the replicas that serve or are drained."""
        links = [slot.link for slot in self._slots if slot.link is not None and not slot.link.is_lost]
        return [link.stats for link in links if link.stats is not None]

    @property
    def states(self) -> tuple[ReplicaState, ...]:
        """State of each replica."""
        return tuple(slot.state for slot in self._slots)

    async def start(self) -> None:
        """Start all replicas and wait until they serve. Raise EngineError if one of them cannot.

        One shared replica is enough: others may be out of order, or be restarted now.
        """
        self._run(self._watch())
        if self._placement.is_shared:
            for slot in self._slots:
                self._run(self._relaunch(slot))
        else:
            await self._launch_all()
        while len(self.ready) < (1 if self._placement.is_shared else len(self._slots)):
            if self._startup_failure:
                await self.stop(0.0)
                raise EngineError(self._startup_failure)
            await self._next_change()
        self._is_starting = False

    async def _launch_all(self) -> None:
        try:
            async with asyncio.TaskGroup() as group:
                for slot in self._slots:
                    group.create_task(self._launch(slot))
        except* EngineError as errors:
            self._startup_failure = str(errors.exceptions[0])

    async def serving(self) -> list[Link]:
        """Return the links of the replicas that serve, at least one. Wait for the next epoch if there is none.

        Raise NotReadyError if there will be none.
        """
        while not (links := self.ready):
            if self._is_stopping or all(slot.is_given_up for slot in self._slots):
                raise NotReadyError("the engine is stopping" if self._is_stopping else "no replica is left")
            await self._next_change()
        return links

    async def stop(self, drain_seconds: float, patience: float = 0.0) -> None:
        """Drain all replicas, and end them. Replicas that do not end in time are killed.

        Shared replicas are left to the other gateways at once, and end if there is none.

        patience: seconds beyond the usual ones for the flush of the tiers.
        """
        self._is_stopping = True
        self._changed.set()
        if self._placement.is_shared:
            self._leave()
            return
        for slot in self._slots:
            if slot.link is not None and slot.link.is_ready:
                slot.link.send(Drain(drain_seconds, patience))
            elif slot.placed is not None:
                slot.placed.kill()
        reapers = [slot.reaper for slot in self._slots if slot.reaper is not None]
        if reapers:
            await asyncio.wait(reapers, timeout=drain_seconds + FLUSH_SECONDS + patience)
        for slot in self._slots:
            if slot.placed is not None:
                slot.placed.kill()
        for task in list(self._tasks):
            if task not in reapers:
                task.cancel()
        if reapers:
            await asyncio.wait(reapers, timeout=FLUSH_SECONDS)

    def _leave(self) -> None:
        for task in list(self._tasks):
            task.cancel()
        for slot in self._slots:
            if slot.link is not None and not slot.link.is_lost:
                slot.link.send(Farewell())
                slot.link.connection.close()

    def drain(self, index: int) -> None:
        """Have the other replicas continue the answers of one, which flushes its tiers and restarts.

        Raise NotFoundError, or ConflictError if the replica does not serve now, or no other does.
        """
        if not 0 <= index < len(self._slots):
            raise NotFoundError(f"There is no replica {index}", code="replica_not_found")
        slot, ready = self._slots[index], self.ready
        if slot.link not in ready or slot.link is None or slot.placed is None:
            raise ConflictError(f"Replica {index} does not serve now", code="replica_not_ready")
        if len(ready) == 1:
            raise ConflictError(f"No replica but {index} serves now: try again later", code="no_other_replica")
        logger.info("replica %d (epoch %d) is drained", index, slot.link.epoch)
        slot.link.drain(MOVE_SECONDS + FLUSH_SECONDS)
        asyncio.get_running_loop().call_later(MOVE_SECONDS + 3 * FLUSH_SECONDS, slot.placed.kill)
        self._retire(slot.link)

    def on_note(self, sentence: str) -> None:
        """See LinkEvents."""
        if self._is_starting:
            self._progress(sentence)
        else:
            logger.info("%s", sentence)

    def on_ready(self, link: Link) -> None:
        """See LinkEvents."""
        assert link.facts is not None
        if self._model not in ("", link.facts.namespace.model_fingerprint):
            link.facts = None
            self.on_failed(link, f"replica {link.index} has another model than this server")
            return
        self._facts = self._facts or link.facts
        if (link.facts.kv_fingerprint, link.facts.model_window) != (
            self._facts.kv_fingerprint,
            self._facts.model_window,
        ):
            link.facts = None
            self.on_failed(link, f"replica {link.index} computes with other numerics than the first one")
            return
        if link.facts.adapters != self._facts.adapters:
            link.facts = None
            self.on_failed(link, f"replica {link.index} has read other adapters than the first one (--adapters-dir)")
            return
        slot = self._slots[link.index]
        assert slot.placed is not None
        slot.watch = self._run(self._notice_death(slot.placed, link))
        logger.info("replica %d serves (epoch %d)", link.index, link.epoch)
        self._on_link(link)
        self._announce()

    def on_failed(self, link: Link, sentence: str) -> None:
        """See LinkEvents."""
        if self._is_starting:
            self._startup_failure = sentence
            self._announce()
        link.mark_lost(sentence)

    def on_report(self, link: Link, report: Report) -> None:
        """See LinkEvents."""
        self._on_report(link, report)

    def on_draining(self, link: Link) -> None:
        """See LinkEvents."""
        logger.info("replica %d (epoch %d) is drained by another server", link.index, link.epoch)
        self._retire(link)

    def _retire(self, link: Link) -> None:
        """Have the answers of a replica that is drained move to others."""
        placed = self._slots[link.index].placed
        assert placed is not None
        placed.retire()
        self._on_drained(link)
        self._announce()

    def on_lost(self, link: Link, reason: str, answers: Sequence[RemoteAnswer]) -> None:
        """See LinkEvents."""
        slot = self._slots[link.index]
        assert slot.placed is not None
        slot.placed.kill()
        if slot.watch is not None:
            # Some placements give no notice, and the watch would keep the link for as long as the server runs.
            slot.watch.cancel()
            slot.watch = None
        self._on_gone(link)
        if self._is_stopping:
            self._on_answers(link, answers)
            return
        if link.is_draining:
            self._run(self._relaunch(slot))
            self._on_answers(link, answers)
            self._announce()
            return
        slot.last_loss = reason
        logger.error(
            "replica %d (epoch %d) is lost: %s; %d answers continue elsewhere",
            slot.index,
            link.epoch,
            reason,
            len(answers),
        )
        if self._is_starting and not self._placement.is_shared:
            self._startup_failure = self._startup_failure or f"replica {slot.index} was lost: {reason}"
        else:
            self._run(self._restart(slot, answers))
        self._on_answers(link, answers)
        self._announce()

    async def _restart(self, slot: _Slot, answers: Sequence[RemoteAnswer]) -> None:
        """Start the next epoch of a replica once its budget allows it.

        answers: those of the former epoch.
        """
        if self._placement.is_shared:
            # The placement has the budget: a replica may only have to be connected again.
            await asyncio.sleep(0.0 if slot.link is not None and slot.link.facts is not None else AGAIN_SECONDS)
            await self._relaunch(slot)
            return
        while (pause := slot.budget.spend(time.monotonic())) is None:
            slot.is_given_up = True
            logger.error(
                "replica %d is not restarted for %g s: there were %d restarts",
                slot.index,
                BUDGET_SECONDS,
                slot.budget.most,
            )
            self._announce()
            if all(each.is_given_up for each in self._slots):
                self._on_give_up(f"all replicas were lost, the last one because {slot.last_loss}")
                return
            await asyncio.sleep(BUDGET_SECONDS)
        slot.is_given_up = False
        await asyncio.sleep(pause)
        if slot.share.cores.sharers > 1:
            await self._until_continued(answers)
        await self._relaunch(slot)

    async def _until_continued(self, answers: Sequence[RemoteAnswer]) -> None:
        """Leave the cores to the replicas that continue the answers of a lost one, for a while."""
        for _ in range(CONTINUED_BEATS):
            if not self.ready or not any(each.is_paused for each in answers):
                return
            await asyncio.sleep(BEAT_SECONDS)

    async def _relaunch(self, slot: _Slot) -> None:
        """Start the next epoch of a replica once the former one has ended."""
        if slot.reaper is not None:
            # The memory and the cores of the former epoch are free once it has ended.
            await asyncio.wait([slot.reaper])
        former = slot.link
        while not self._is_stopping:
            try:
                await self._launch(slot)
                assert slot.link is not None
                slot.restarts += former is not None and slot.link.epoch != former.epoch
                return
            except EngineError as error:
                slot.last_loss = str(error)
                logger.error("replica %d cannot be started now: %s", slot.index, error)
            except Exception as error:  # whatever the database or Ray raises
                slot.last_loss = f"{type(error).__name__}: {error}"
                logger.exception("replica %d cannot be started now", slot.index)
            await asyncio.sleep(AGAIN_LATER_SECONDS)

    async def _launch(self, slot: _Slot) -> None:
        cores = slot.share.cores
        names = tuple(each.name for each in self._facts.adapters) if self._facts is not None else None
        config = slot.config.with_fields(cpu_sharers=cores.sharers)
        order = ReplicaOrder(
            config if names is None else config.with_fields(adapters=names),
            slot.index,
            next(self._epochs),
            self._token,
            os.getpid(),
            cores.cpus,
            slot.share.accelerator,
            logging.getLogger().getEffectiveLevel(),
            sys.getswitchinterval(),
        )
        placed = slot.placed = await self._placement.start(order)
        link = slot.link = Link(slot.index, placed.epoch, placed.token, self)
        link.seat.role = slot.config.parallel.role
        slot.reaper = self._run(self._reap(placed, link))
        try:
            await placed.connect(link.connection)
        except OSError as error:
            link.mark_lost(f"it cannot be reached on {placed.machine}: {error.strerror or error}")

    async def _reap(self, placed: PlacedReplica, link: Link) -> None:
        """Wait for the end of a process. The reason is better than that of its socket, if it comes first."""
        end = await placed.ended()
        reason = f"its process (pid {placed.pid} on {placed.machine}) {end}"
        slot = self._slots[link.index]
        if link.is_lost and slot.link is link and slot.last_loss in (CLOSED, DIED):
            slot.last_loss = reason
        link.mark_lost(reason)

    async def _notice_death(self, placed: PlacedReplica, link: Link) -> None:
        """Lose a link whose process died, before the kernel has freed the memory and closes the socket."""
        await placed.died()
        link.mark_lost(DIED)

    async def _watch(self) -> None:
        """Lose the replicas that are silent for too long.

        Ticks are counted instead of seconds: while this process is stalled, no replica's frames can be read either.
        """
        while True:
            await asyncio.sleep(BEAT_SECONDS)
            for slot in self._slots:
                link = slot.link
                if link is None or link.is_lost:
                    continue
                link.tick()
                most = SILENT_TICKS if link.is_ready else STARTING_TICKS
                if link.num_silent > most and not self._is_stopping:
                    link.mark_lost(f"it sent nothing for {most * BEAT_SECONDS:g} s")

    def _announce(self) -> None:
        changed, self._changed = self._changed, asyncio.Event()
        changed.set()

    async def _next_change(self) -> None:
        await self._changed.wait()

    def _run(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task
