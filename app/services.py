"""What the routes work with: made once at the start, found through the request."""

import asyncio
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from starlette.requests import Request

from app.continuation import Continuation
from app.deletions import Deletions
from app.engine_host import EngineHost
from app.kv_erasure import KVErasure
from app.metrics import Metrics
from app.next_prefix import NextPrefixes
from app.responses.service import Responses
from app.resumption import Resumption
from app.runs import RunRegistry
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
    titles: TitleMaker | None
    next_prefixes: NextPrefixes
    metrics: Metrics

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
        next_prefixes = NextPrefixes(host, store, turns, erasure)
        responses = Responses(host, store, runs, turns, erasure)
        metrics = Metrics(host, lambda: runs.live)
        continuation = Continuation(host, store, runs)
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
            titles,
            next_prefixes,
            metrics,
        )

    def begin(self) -> None:
        """Start what is done whether or not somebody asks for anything."""
        self.deletions.begin()

    async def close(self) -> None:
        """Wait for the runs, which the engine has ended by then, and close the conversations."""
        await self.resumption.stop()
        with suppress(TimeoutError):
            async with asyncio.timeout(JOIN_SECONDS):
                await self.runs.join()
        if self.titles is not None:
            await self.titles.stop()
        await self.next_prefixes.stop()
        await self.deletions.stop()
        await self.erasure.stop()
        await self.store.close()


def services_of(request: Request) -> Services:
    """The services of the application that serves `request`."""
    services = request.app.state.services
    assert isinstance(services, Services)
    return services
