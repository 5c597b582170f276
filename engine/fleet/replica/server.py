"""The replica's end of the connections: one engine, and a session for each gateway."""

import asyncio
import itertools
import logging
import os
from typing import Final

from engine.fleet.replica.reporter import Reporter
from engine.fleet.replica.session import GatewaySession
from engine.fleet.wire.connection import FrameConnection
from engine.fleet.wire.messages import Beat, Draining, Failed, Ready, ReplicaFacts, Up
from engine.fleet.wire.report import REPORT_SECONDS
from engine.loop.async_llm import AsyncLLMEngine

BEAT_SECONDS: Final = 0.25
"""Longest time without a frame from a replica that lives."""

ORPHAN_SECONDS: Final = 60.0
"""Time after which a shared replica ends that has no gateway. The next gateway may need that long to start."""

GATEWAY_TICKS: Final = 20
"""Ticks of BEAT_SECONDS without a frame after which a shared replica drops a gateway. Its lease has expired by then."""

DRAIN_LIMIT_SECONDS: Final = 10.0
"""Time beyond that of a drain after which a shared replica ends although its engine has not stopped."""

PROOF_TICKS: Final = 20
"""Ticks in which a peer of a shared replica must prove itself."""

MAX_UNPROVEN_PEERS: Final = 32
"""Peers of a shared replica that have not proved themselves. Others are turned away."""

logger = logging.getLogger(__name__)


class ReplicaServer:
    """Owner of the engine and of the sessions of gateways. Every method belongs to the event loop's thread.

    A private replica ends with its gateway's connection. A shared one lives for as long as any gateway is connected,
    and ORPHAN_SECONDS longer, unless the last one has announced that it leaves. Either ends if the engine fails:
    nothing in the process would be of use.
    """

    def __init__(self, token: bytes, epoch: int, *, is_shared: bool = False) -> None:
        """Prepare for gateways that know `token`.

        is_shared: whether several gateways may connect, and no one of them owns the process.
        """
        self._token = token
        self._epoch = epoch
        self._is_shared = is_shared
        self._engine: AsyncLLMEngine | None = None
        self._opening: Ready | Failed | None = None
        self._unsent: list[Up] = []
        self._sessions: list[GatewaySession] = []
        self._numbers = itertools.count()
        self._has_gateway = asyncio.Event()
        self._orphaned: asyncio.TimerHandle | None = None
        self._draining: asyncio.Task[None] | None = None
        self._has_ended = False

    @property
    def engine(self) -> AsyncLLMEngine:
        """See SessionOwner."""
        assert self._engine is not None, "gateways call a replica only once it is ready"
        return self._engine

    @property
    def _proven(self) -> list[GatewaySession]:
        return [session for session in self._sessions if session.is_proven]

    def begin(self) -> None:
        """Begin to send signs of life. A shared replica that no gateway finds ends by itself."""
        self._beat()
        self._await_gateways()

    async def first_gateway(self) -> None:
        """Wait until a gateway has proved itself."""
        await self._has_gateway.wait()

    def admit(self) -> FrameConnection:
        """Return the protocol of a connection that a gateway opens."""
        # A connection whose TLS handshake fails is never opened, nor closed.
        return GatewaySession(next(self._numbers), self._token, self._epoch, self).connection

    def send(self, message: Up) -> None:
        """Send a message to all gateways. The first gateway receives what was sent before it came."""
        proven = self._proven
        if not proven:
            self._unsent.append(message)
        for session in proven:
            session.send(message)

    def serve(self, engine: AsyncLLMEngine) -> None:
        """Announce that the engine, which has been started, serves."""
        self._engine = engine
        public = engine.keys.public
        facts = ReplicaFacts(
            engine.kv_fingerprint,
            engine.model_window,
            dict(engine.tier_notes),
            engine.keys.namespace,
            engine.max_model_len,
            public.token_ids if public is not None else (),
            tuple(engine.adapters.values()),
        )
        self._open(Ready(facts, engine.stats()))
        self._report(Reporter(engine))

    def fail(self, sentence: str) -> None:
        """Announce that there will be no engine, and end the process once a gateway knows."""
        self._open(Failed(sentence))
        if self._proven:
            asyncio.get_running_loop().call_soon(self._end)

    def exit_if_broken(self) -> None:
        """Exit before a gateway learns of aborts that it did not ask for: its answers continue elsewhere."""
        if self._engine is not None and self._engine.is_broken:
            logger.error("the engine of this replica has failed: %s", self._engine.why_gave_up)
            os._exit(1)

    def on_opened(self, session: GatewaySession) -> None:
        """See SessionOwner."""
        self._sessions.append(session)
        if self._is_shared and len(self._sessions) - len(self._proven) > MAX_UNPROVEN_PEERS:
            session.connection.abort()

    def on_proven(self, session: GatewaySession) -> None:
        """See SessionOwner."""
        self._has_gateway.set()
        if self._orphaned is not None:
            self._orphaned.cancel()
            self._orphaned = None
        unsent, self._unsent = self._unsent, []
        for message in unsent:
            session.send(message)
        if self._opening is not None:
            session.send(self._opening)
        if isinstance(self._opening, Failed):
            asyncio.get_running_loop().call_soon(self._end)
        if self._draining is not None and self._is_shared:
            session.send(Draining())

    def on_drain(self, seconds: float, patience: float = 0.0) -> None:
        """See SessionOwner. All gateways leave, and their answers continue elsewhere."""
        if self._draining is None:
            self._draining = asyncio.create_task(self._drain(seconds, patience), name="drain")
            if self._is_shared:
                self.send(Draining())
                # No gateway may be able to kill this process.
                asyncio.get_running_loop().call_later(seconds + DRAIN_LIMIT_SECONDS, os._exit, 1)

    def on_closed(self, session: GatewaySession) -> None:
        """See SessionOwner."""
        self._sessions.remove(session)
        if not self._is_shared or (self._has_ended and not self._sessions):
            os._exit(0)
        if session.has_left and not self._proven:
            self.on_drain(0.0)
        self._await_gateways()

    def _open(self, opening: Ready | Failed) -> None:
        """Tell all gateways, and those that come later, whether there is an engine."""
        self._opening = opening
        for session in self._proven:
            session.send(opening)

    def _await_gateways(self) -> None:
        """Have the process end if no gateway comes."""
        if self._is_shared and not self._proven and self._orphaned is None:
            loop = asyncio.get_running_loop()
            self._orphaned = loop.call_later(ORPHAN_SECONDS, self.on_drain, 0.0)

    def _beat(self) -> None:
        self.exit_if_broken()
        if self._proven:
            self.send(Beat(self._engine.stats() if self._engine is not None else None))
        if self._is_shared:
            self._drop_silent()
        asyncio.get_running_loop().call_later(BEAT_SECONDS, self._beat)

    def _drop_silent(self) -> None:
        """Drop the gateways that are silent for too long, among them frozen ones, whose runs others continue.

        Ticks are counted instead of seconds: while this process is stalled, no gateway's frames can be read either.
        """
        for session in list(self._sessions):
            session.num_silent += 1
            if session.num_silent > (GATEWAY_TICKS if session.is_proven else PROOF_TICKS):
                session.connection.abort()

    def _report(self, reporter: Reporter) -> None:
        if (reading := reporter.read()) is not None:
            proven = self._proven
            for session in proven:
                session.report(reading, len(proven), reporter.published)
        asyncio.get_running_loop().call_later(REPORT_SECONDS, self._report, reporter)

    async def _drain(self, seconds: float, patience: float) -> None:
        if self._engine is not None:
            await self._engine.stop(seconds, patience)
        # The last outputs are sent by a callback that is already queued.
        asyncio.get_running_loop().call_soon(self._end)

    def _end(self) -> None:
        """Close all connections. The last one ends the process."""
        self._has_ended = True
        if not self._sessions:
            os._exit(0)
        for session in self._sessions:
            session.connection.close()
