"""Moves of answers from a replica that is drained to the others.

A move hardly interrupts its answer. While the old replica continues it, another one computes the context or loads it.
Only then is the answer taken from the old one, and continued where its context is. A few answers move at a time, so
that contexts do not wait for one another, and other answers do not wait for many contexts.
"""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Sequence
from typing import Final

from engine.api.errors import EbbError
from engine.api.generate_request import GenerateRequest
from engine.api.request_stream import RequestStream
from engine.fleet.gateway.answer import RemoteAnswer
from engine.fleet.gateway.link import Link

MOVES: Final = 1
"""Answers that move at a time, for each gateway."""

MOVE_SECONDS: Final = 60.0
"""Time limit of all moves. Answers that are left then are continued elsewhere at once."""

POLL_SECONDS: Final = 0.05
"""Time between two looks for answers that the replica was about to accept when the drain began."""


class Moves:
    """Owner of the moves of a gateway. Every method belongs to the event loop's thread."""

    def __init__(
        self,
        generate: Callable[[GenerateRequest], Awaitable[Sequence[RequestStream]]],
        move: Callable[[RemoteAnswer], Awaitable[None]],
        *,
        computes_ahead: bool,
    ) -> None:
        """Prepare for moves.

        generate: has a replica that is not drained compute a request.
        move: continues an answer that no replica computes, and returns once one does.
        computes_ahead: whether replicas find the context that they have computed before.
        """
        self._generate = generate
        self._move = move
        self._computes_ahead = computes_ahead
        self._places = asyncio.Semaphore(MOVES)

    async def all_of(self, link: Link) -> None:
        """Move all answers of a replica that is drained. Return once it has none, or is lost."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(MOVE_SECONDS):
                while link.num_answers:
                    await asyncio.gather(*(self._move_one(link, each) for each in link.accepted))
                    await asyncio.sleep(POLL_SECONDS)
        await asyncio.gather(*(self._move(each) for each in link.accepted if link.let_go(each)))

    async def _move_one(self, link: Link, answer: RemoteAnswer) -> None:
        async with self._places:
            if self._computes_ahead and link.has(answer):
                with contextlib.suppress(EbbError):
                    await self._compute_ahead(answer)
            if link.let_go(answer):
                await self._move(answer)

    async def _compute_ahead(self, answer: RemoteAnswer) -> None:
        """Have the replica that will continue an answer compute its context up to the last token."""
        if (request := answer.context()) is None:
            return
        for stream in await self._generate(request):
            async for _ in stream:
                pass
