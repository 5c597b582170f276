"""One fault at a time, while people chat at the servers whose database breaks."""

import asyncio
import random
import time
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Final, Generic, Protocol, TypeVar

import aiohttp

from tests.faults_database.clients import Caller, GoneError, Person, Scene, Streamer, undisturbed
from tests.faults_database.ledger import NO_WINDOW, Comparison, Rows, Window
from tests.faults_database.pulse import Pulse
from tests.integration.sse_events import events

PEOPLE: Final = 6
RECOVERY_SECONDS: Final = 30.0
"""Time after a fault by which everything works again."""
TOLD_SECONDS: Final = 5.0
"""Time in which pages at other servers receive a change."""

HEAD: Final = (
    "| fault | servers | chats | lost | doubled | blocked | longest gap, s | pause of the machine, s "
    "| slowest request, s | seconds |\n"
    "| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |"
)


@dataclass(frozen=True, slots=True)
class Pace:
    """Times in seconds. before: from the start of the load to the fault. after: from the fault to the end."""

    before: float = 4.0
    after: float = 5.0


@dataclass(frozen=True, slots=True)
class Outcome:
    """The effects of a fault. Times are in seconds.

    gap: longest time between two pieces of a stream.
    pause: longest time for which the machine let a thread of this process wait.
    slowest: longest time that a request took.
    """

    fault: str
    topology: str
    num_chats: int
    lost: list[str]
    doubled: list[str]
    blocked: list[str]
    gap: float
    pause: float
    slowest: float
    seconds: float

    @property
    def row(self) -> str:
        """A row of the table."""
        counts = " | ".join(str(len(each)) for each in (self.lost, self.doubled, self.blocked))
        return (
            f"| {self.fault} | {self.topology} | {self.num_chats} | {counts} | {self.gap:.2f} | {self.pause:.2f} "
            f"| {self.slowest:.1f} | {self.seconds:.0f} |"
        )

    @property
    def defects(self) -> list[str]:
        """Sentences about everything that went wrong."""
        found = [f"lost: {each}" for each in self.lost] + [f"doubled: {each}" for each in self.doubled]
        found += [f"blocked: {each}" for each in self.blocked]
        return [f"{self.fault}, {self.topology}: {each}" for each in found]


S = TypeVar("S", bound="Scenery")


class Scenery(Protocol):
    """Servers and their database.

    kind: name of the servers in the table.
    window: the time in which the last fault may have lost confirmed writes.
    """

    kind: str
    window: Window

    def steady_urls(self) -> list[str]:
        """Return the addresses of the servers that run all the time."""

    def urls(self) -> list[str]:
        """Return the addresses of all servers that run."""

    async def arrive(self) -> None:
        """Start a further server, where there are several."""

    async def depart(self) -> None:
        """Stop a server, where there are several."""

    def content(self) -> Rows:
        """Return the database that the servers use."""


class Play(Generic[S]):
    """Plays on a stage, with the same model."""

    def __init__(self, stage: S, pace: Pace) -> None:
        self._stage = stage
        self._pace = pace
        self._model = ""
        self._expected: dict[str, str] = {}

    async def begin(self) -> None:
        """Learn the name of the model, and the answers that nothing disturbs."""
        async with aiohttp.ClientSession(self._stage.urls()[0]) as session, session.get("/v1/models") as response:
            self._model = (await response.json())["data"][0]["id"]
        scene = self._scene()
        await undisturbed(scene, lambda: Person(scene, 0, random.Random(0)))
        self._expected = scene.expected

    async def play(self, name: str, strike: Callable[[S], Awaitable[None]], seed: int) -> Outcome:
        """Break the database while people chat, and return the effects."""
        scene, self._stage.window = self._scene(), NO_WINDOW
        people = [Person(scene, number, random.Random(f"{seed} {number}")) for number in range(PEOPLE)]
        streamers = [Streamer(url, self._model) for url in self._stage.steady_urls()]
        streaming = [asyncio.create_task(each.live()) for each in streamers]
        living = [asyncio.create_task(each.live()) for each in people]
        began, pulse = time.monotonic(), Pulse()
        # The fault meets a server that starts, and one that stops.
        moving = [asyncio.create_task(self._stage.arrive())]
        try:
            await asyncio.sleep(self._pace.before)
            pulse.reset()
            for each in streamers:
                each.reset()
            moving.append(asyncio.create_task(self._stage.depart()))
            await strike(self._stage)
            ended = time.monotonic()
            await asyncio.sleep(self._pace.after)
            scene.is_over = True
            blocked = await self._blocked(people, living, ended + RECOVERY_SECONDS)
            gap, pause = max(each.measured() for each in streamers), pulse.longest
            blocked += [error for each in streamers for error in each.errors]
            blocked += await self._immovable(moving, ended + RECOVERY_SECONDS)
            blocked += await self._untold(ended + RECOVERY_SECONDS)
            blocked += await self._unusable(scene, ended + RECOVERY_SECONDS)
        finally:
            pulse.stop()
            for task in (*streaming, *living, *moving):
                task.cancel()
            await asyncio.gather(*streaming, *living, *moving, return_exceptions=True)
        found = await self._settled(scene, ended + RECOVERY_SECONDS)
        blocked += [f"{each} is in progress" for each in found.unfinished]
        return Outcome(
            name,
            self._stage.kind,
            len(scene.ledger.chats),
            found.lost,
            found.doubled,
            blocked,
            gap,
            pause,
            scene.slowest,
            time.monotonic() - began,
        )

    async def _blocked(
        self, people: Sequence[Person], living: "Sequence[asyncio.Task[None]]", deadline: float
    ) -> list[str]:
        done, waiting = await asyncio.wait(living, timeout=max(0.0, deadline - time.monotonic()))
        failed = [f"a person gave up: {error}" for task in done if (error := task.exception()) is not None]
        names = [f"person {number}" for number, task in enumerate(living) if task in waiting]
        chats = people[0].scene.ledger.chats
        return failed + [
            f"{name} waits in {[each for each in chats if each.title.startswith(f'chat {name[7:]}-')][-1]}"
            for name in names
        ]

    async def _immovable(self, moving: "Sequence[asyncio.Task[None]]", deadline: float) -> list[str]:
        """Return sentences about a server that does not start or stop by the deadline."""
        done, waiting = await asyncio.wait(moving, timeout=max(0.0, deadline - time.monotonic()))
        for task in done:
            task.result()
        return [f"a server does not {'start' if task is moving[0] else 'stop'}" for task in waiting]

    async def _unusable(self, scene: Scene, deadline: float) -> list[str]:
        """Use all chats that are left, and return sentences about those that do not answer by the deadline."""
        places = asyncio.Semaphore(PEOPLE)
        left = [chat for chat in scene.ledger.chats if chat.id is not None and not chat.may_be_deleted]

        async def use(number: int) -> str | None:
            try:
                async with places, asyncio.timeout_at(asyncio.get_running_loop().time() + deadline - time.monotonic()):
                    await Person(scene, number, random.Random(number)).try_all(left[number])
            except TimeoutError:
                return f"{left[number].title} cannot be used: {left[number].turns[-1]}"
            except GoneError:
                pass
            return None

        return [each for each in await asyncio.gather(*map(use, range(len(left)))) if each is not None]

    async def _untold(self, deadline: float) -> list[str]:
        """Return sentences about servers whose pages do not receive the changes at the first server."""
        found = []
        for url in self._stage.urls():
            try:
                async with asyncio.timeout_at(asyncio.get_running_loop().time() + deadline - time.monotonic()):
                    while not await self._is_notified(url):
                        pass
            except TimeoutError:
                found.append(f"a page at {url} receives no changes")
        return found

    async def _is_notified(self, url: str) -> bool:
        title = f"page {time.monotonic()}"
        with suppress(aiohttp.ClientError):
            async with aiohttp.ClientSession(url) as page, page.get("/api/events") as response:
                made = await Caller(self._scene(), 0).call("POST", "/api/conversations", {"title": title})
                if made.status != 201:
                    return False
                with suppress(TimeoutError):
                    async with asyncio.timeout(TOLD_SECONDS):
                        async for event in events(response):
                            if event.kind == "conversation" and event.data["conversation"]["id"] == made.body["id"]:
                                return True
        return False

    async def _settled(self, scene: Scene, deadline: float) -> Comparison:
        """Return the comparison once it shows nothing in progress, or at the deadline."""
        while True:
            found = await asyncio.to_thread(scene.ledger.compare, self._stage.content(), self._stage.window)
            if not found.unfinished or time.monotonic() > deadline:
                return found
            await asyncio.sleep(0.5)

    def _scene(self) -> Scene:
        params = {"temperature": 0, "max_tokens": 60, "ignore_eos": True}
        return Scene(self._stage.urls(), params, expected=self._expected)
