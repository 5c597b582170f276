"""Chats of the soak: conversations that grow, are interrupted, resume, and are deleted."""

import asyncio
import contextlib
import random
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

import aiohttp

from app.load.answer import RequestFailedError, StreamBrokenError
from app.load.client import LoadClient
from bench.soak.client import Manner, NotAsExpectedError, SoakClient
from bench.soak.observed import describe_requests
from bench.soak.plan import SoakPlan
from bench.soak.scripts import Answers, Script, generation

MANNERS: Final[tuple[Manner, ...]] = ("listens",) * 8 + ("comes back", "cancels")
PLAIN_SHARE: Final = 0.15
"""Share of turns before which the chat also sends a request through OpenAI's API. Half of these are dropped."""
MAX_PATIENCE: Final = 12
MAX_DETAILS: Final = 20


@dataclass(slots=True)
class Tally:
    """Counts over all chats.

    asked: answers by the client's manner of listening.
    errors: client errors by kind.
    details: the first errors.
    """

    asked: Counter[str] = field(default_factory=Counter)
    conversations: int = 0
    errors: Counter[str] = field(default_factory=Counter)
    details: list[str] = field(default_factory=list)

    @property
    def turns(self) -> int:
        """Number of answers in conversations."""
        return sum(self.asked[manner] for manner in set(MANNERS))

    def note(self, error: Exception, requests: str = "") -> None:
        """Count a client error. Keep and print the first ones.

        requests: the requests that the server had, which tell a long queue from a server that is stuck.
        """
        self.errors[error.kind if isinstance(error, NotAsExpectedError) else _kind(error)] += 1
        if len(self.details) < MAX_DETAILS:
            server = f" [requests: {requests}]" if requests else ""
            self.details.append(f"{type(error).__name__}: {error}"[:500] + server)
            print(self.details[-1], file=sys.stderr, flush=True)


def _kind(error: Exception) -> str:
    match error:
        case RequestFailedError(status=200):
            return "error event"
        case RequestFailedError():
            return f"HTTP {error.status}"
        case StreamBrokenError():
            return "broken stream"
        case _:
            return "connection"


class Chat:
    """One user, who has one conversation after another until `over` is set."""

    def __init__(
        self,
        number: int,
        plan: SoakPlan,
        scripts: Sequence[Script],
        answers: Answers,
        tally: Tally,
        client: SoakClient,
        plain: LoadClient,
        over: asyncio.Event,
    ) -> None:
        self._plan, self._scripts, self._answers, self._tally = plan, scripts, answers, tally
        self._client, self._plain, self._over = client, plain, over
        self._source = random.Random(f"{plan.seed}/chat/{number}")

    async def live(self) -> None:
        """Converse until `over` is set. An error ends a conversation, never the chat."""
        await self._pause(self._source.uniform(0.0, self._plan.pause[1]))
        while not self._over.is_set():
            try:
                await self._converse(self._source.choice(self._scripts))
            except (NotAsExpectedError, RequestFailedError, StreamBrokenError, aiohttp.ClientError, OSError) as error:
                self._tally.note(error, await self._requests())
                await self._pause(self._source.uniform(*self._plan.pause))

    async def _requests(self) -> str:
        try:
            return describe_requests(await self._client.metrics()) or "none"
        except (NotAsExpectedError, aiohttp.ClientError, OSError) as error:
            return f"unknown, {error}"

    async def _converse(self, script: Script) -> None:
        conversation = await self._client.begin(script.system)
        self._tally.conversations += 1
        for turn in range(self._source.randint(*self._plan.turns)):
            if self._source.random() < PLAIN_SHARE:
                await self._ask_plainly(script)
            manner = self._source.choice(MANNERS)
            patience = self._source.randint(0, MAX_PATIENCE)
            text = await self._client.say(conversation, script.questions[turn], manner, patience)
            self._tally.asked[manner] += 1
            self._answers.compare(script, turn, text)
            await self._pause(self._source.uniform(*self._plan.pause))
            if self._over.is_set():
                return
        await self._client.delete(conversation)

    async def _ask_plainly(self, script: Script) -> None:
        """Send the opening through OpenAI's API, which has the same answer through every API."""
        if self._source.random() < 0.5:
            await self._client.drop(await self._plain.model(), script.opening, self._source.randint(0, MAX_PATIENCE))
            self._tally.asked["dropped"] += 1
            return
        answer = await self._plain.chat(script.opening, generation(self._plan))
        self._tally.asked["plain"] += 1
        self._answers.compare(script, 0, answer.text)

    async def _pause(self, seconds: float) -> None:
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._over.wait(), seconds)
