"""What the routes work with: made once at the start, found through the request."""

import asyncio
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from starlette.requests import Request

from app.answer_memory import AnswerMemory
from app.continuation import Continuation
from app.deletions import Deletions
from app.engine_host import EngineHost
from app.kv_erasure import KVErasure
from app.loop_lag import LoopLag
from app.metrics import Metrics
from app.responses.service import Responses
from app.resumption import Resumption
from app.runs import RunRegistry
from app.stateless import WholePrompts
from app.storage.store import Store
from app.title_maker import TitleMaker
from app.turns import Turns

JOIN_SECONDS = 5.0


@dataclass(frozen=True, slots=True)
class Services:
    """`store` is owned here; the engine is not. titles: None if the first message's words are all that is wanted."""

    host: EngineHost
    store: Store
    runs: RunRegistry
    erasure: KVErasure
    deletions: Deletions
    turns: Turns
    resumption: Resumption
    continuation: Continuation
    responses: Responses
    answers: AnswerMemory
    prompts: WholePrompts
    titles: TitleMaker | None
    metrics: Metrics
    loop_lag: LoopLag

    @classmethod
    async def open(cls, database_path: Path, host: EngineHost, *, model_titles: bool = False) -> "Services":
        """Open the conversations. Runs that a former process left unfinished can be followed from then on."""
        store = await Store.open(database_path)
        runs = RunRegistry(store.runs)
        resumption = Resumption(host, store, runs)
        await resumption.begin()
        erasure = KVErasure(host, store.tokens)
        deletions = Deletions(host, store, runs, erasure)
        turns = Turns(host, store, runs)
        titles = TitleMaker(host, store, turns) if model_titles else None
        answers = AnswerMemory(store.answers)
        prompts = WholePrompts(host, answers)
        responses = Responses(host, store, runs, turns, prompts, erasure)
        metrics = Metrics(host, lambda: runs.live)
        continuation = Continuation(host, store, runs)
        loop_lag = LoopLag(metrics.loop_lag.observe)
        return cls(
            host,
            store,
            runs,
            erasure,
            deletions,
            turns,
            resumption,
            continuation,
            responses,
            answers,
            prompts,
            titles,
            metrics,
            loop_lag,
        )

    def begin(self) -> None:
        """Start what is done whether or not somebody asks for anything."""
        self.deletions.begin()
        self.loop_lag.begin()

    async def close(self) -> None:
        """Wait for the runs, which the engine has ended by then, and close the conversations."""
        await self.resumption.stop()
        with suppress(TimeoutError):
            async with asyncio.timeout(JOIN_SECONDS):
                await self.runs.join()
        if self.titles is not None:
            await self.titles.stop()
        self.loop_lag.stop()
        await self.deletions.stop()
        await self.erasure.stop()
        await self.answers.stop()
        await self.store.close()


def services_of(request: Request) -> Services:
    """The services of the application that serves `request`."""
    services = request.app.state.services
    assert isinstance(services, Services)
    return services
