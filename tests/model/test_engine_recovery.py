"""Defects at every place where the engine's loop calls out.

Requests that a defect does not concern end with the text that they would have had without it, and nothing leaks.
"""

import asyncio
import logging
import random
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest

from cache_tiers.moves.fetches import Fetches
from cache_tiers.moves.loads import Loads
from cache_tiers.moves.manager import TierManager
from cache_tiers.moves.stores import Stores
from engine.api.errors import NotReadyError
from engine.api.generate_request import GenerateRequest
from engine.api.outputs import RequestOutput
from engine.api.request_stream import RequestStream
from engine.api.sampling_params import SamplingParams
from engine.api.structured_output import StructuredOutput
from engine.block_tables.block_manager import BlockManager
from engine.executor import step_timing
from engine.kv.block_pool import BlockPool
from engine.loop.engine_loop import MAX_REBUILDS
from engine.offload.connector import OffloadConnector
from engine.offload.prefetch_hints import PrefetchHints
from engine.scheduling.admission import Admission
from engine.scheduling.admission_order import AdmissionOrder
from engine.scheduling.queue.fair import FairQueue
from engine.scheduling.request_states import RequestStates
from engine.scheduling.results import StepResults
from engine.scheduling.scheduler import Scheduler
from engine.scheduling.step_cost import StepCost
from engine.speculation.speculation import Speculation
from engine.text.answer_text import AnswerText
from engine.text.output_processor import OutputProcessor
from tests.leaks import assert_no_leaks
from tests.model.toy_engine import ToyEngine, ToyExecutor, text_of
from tests.model.toy_store import ToyStore
from tests.model.toys import HalfRight, ToyMask, ToyWorker, expected_output
from tests.sizes import Size

COMMON = (1, 2, 3, 4) * 5


class Panic(BaseException):
    """Panic in native code, which is not an Exception."""


class Listener:
    """Listener to one stream."""

    def __init__(self) -> None:
        self.outputs: list[RequestOutput] = []
        self.ended = asyncio.Event()

    def on_output(self, output: RequestOutput) -> bool:
        self.outputs.append(output)
        if output.finished:
            self.ended.set()
        return True


SCHEDULER: list[tuple[type, str]] = [
    *((Scheduler, name) for name in ("schedule", "update", "add_request", "finish_request", "seconds_to_deadline")),
    *((RequestStates, name) for name in ("add", "start", "finish", "end_load")),
    *((FairQueue, name) for name in ("add", "candidates", "start", "charge")),
    *((BlockManager, name) for name in ("grow", "publish_full", "free")),
    *((BlockPool, name) for name in ("allocate", "release")),
    *((Admission, name) for name in ("admit",)),
    (AdmissionOrder, "start_waiting"),
    (StepResults, "take"),
    (StepCost, "note"),
]
TIERS: list[tuple[type, str]] = [
    *(
        (OffloadConnector, name)
        for name in ("on_arrival", "begin", "take_stores", "poll", "complete", "offer", "on_computed", "touch")
    ),
    *((TierManager, name) for name in ("poll", "complete", "offer", "touch")),
    *((Loads, name) for name in ("begin", "poll", "complete")),
    *((Stores, name) for name in ("take", "offer", "complete")),
    *((Fetches, name) for name in ("begin", "poll")),
    *((ToyStore, name) for name in ("contains", "reserve", "commit", "prefetch", "poll", "release", "look_up")),
    (PrefetchHints, "forget_lapsed"),
]
SPECULATION: list[tuple[type, str]] = [(Speculation, "plan"), (Speculation, "on_computed"), (HalfRight, "propose")]
OF_ONE_REQUEST: list[tuple[type, str]] = [
    (OutputProcessor, "process"),
    (AnswerText, "push"),
    (Listener, "on_output"),
    (ToyMask, "accept"),
    (ToyMask, "words"),
    (ToyMask, "forced"),
]
OF_ONE_STEP: list[tuple[type, str]] = [(ToyWorker, "execute")]
PLACES = [*SCHEDULER, *TIERS, *SPECULATION, *OF_ONE_REQUEST, *OF_ONE_STEP, (ToyExecutor, "execute")]


@dataclass
class Injector:
    """Patch that makes some calls of a method raise.

    at: numbers of the calls that raise, from 1.
    late: raise after the call is carried out instead of before.
    defect: type of the error raised.
    num_raised: number of errors raised so far.
    """

    owner: type
    name: str
    at: set[int]
    late: bool
    defect: type[BaseException]
    num_calls: int = 0
    num_raised: int = 0
    original: Callable[..., Any] = field(init=False)

    @contextmanager
    def active(self) -> Iterator[None]:
        self.original = getattr(self.owner, self.name)
        injector = self

        def call(*args: Any, **kwargs: Any) -> Any:
            injector.num_calls += 1
            is_due = injector.num_calls in injector.at
            if is_due and not injector.late:
                injector.fail()
            result = injector.original(*args, **kwargs)
            if is_due:
                injector.fail()
            return result

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(self.owner, self.name, call)
            yield

    def fail(self) -> None:
        self.num_raised += 1
        raise self.defect(f"injected into {self.owner.__name__}.{self.name}")


@dataclass
class Asked:
    """One request of a life.

    aborted: the client aborted the request before its end.
    """

    stream: RequestStream
    prompt: list[int]
    params: SamplingParams
    listener: Listener
    aborted: bool = False

    @property
    def is_masked(self) -> bool:
        return self.params.form is not None

    def check_text(self) -> None:
        """Raise AssertionError unless the answer equals the one computed alone, or a prefix of it after an abort."""
        outputs = self.listener.outputs
        token_ids = [id_ for output in outputs for id_ in output.token_ids]
        text = "".join(output.text for output in outputs)
        assert sum(output.finished for output in outputs) == 1
        expected = expected_output(self.prompt, self.params, 16, ToyMask() if self.is_masked else None)
        if self.aborted:
            assert token_ids == expected[: len(token_ids)]
        else:
            assert token_ids == expected
            assert text == text_of(expected, self.params)


class Life:
    """Random requests of two tenants to a toy engine: prompts with shared prefixes, several answers, masks, aborts.

    At times the tiers are slow or full.
    """

    def __init__(self, seed: int, *, speculation: bool) -> None:
        self.random = random.Random(seed)
        # In every other life, copies end some steps after the step that started them.
        self.toy = ToyEngine(speculation=speculation, late=random.Random(seed) if seed % 2 else None)
        self.asked: list[Asked] = []

    async def ask(self, prompt: Sequence[int] = ()) -> None:
        length = self.random.choice((1, 6, 13, 20, 20))
        prompt = [*(prompt or (*COMMON[: length - 1], self.random.randrange(5)))]
        params = SamplingParams(
            temperature=0.0,
            max_tokens=self.random.randrange(1, 20),
            seed=0,
            form=StructuredOutput("json", "{}") if self.random.random() < 0.3 else None,
        )
        tenant, count = self.random.choice("ab"), self.random.choice((1, 1, 1, 3))
        every = 0.0 if len(prompt) > 6 else None
        asked = GenerateRequest(
            prompt_token_ids=prompt, params=params, tenant=tenant, num_answers=count, progress_every=every
        )
        for stream in await self.toy.engine.generate(asked):
            self.note(stream, prompt)

    def note(self, stream: RequestStream, prompt: list[int]) -> None:
        listener = Listener()
        self.asked.append(Asked(stream, prompt, stream.params, listener))
        stream.set_listener(lambda output: listener.on_output(output))

    async def run(self) -> None:
        await self.toy.engine.start()
        await self.fill_tiers()
        for _ in range(self.random.randrange(4, 12)):
            await self.ask()
            self.toy.store.latency = self.random.choice((0, 0, 2, 5))
            self.toy.store.refuses = self.random.random() < 0.2
            if self.random.random() < 0.8:
                # Shared prefixes are then only below the device, or only in Redis.
                self.toy.scheduler.blocks.pool.forget_free()
                if self.random.random() < 0.5:
                    self.toy.store.clear_cpu()
            for _ in range(self.random.randrange(30)):
                await asyncio.sleep(0)
            if self.random.random() < 0.2:
                gone = self.random.choice(self.asked)
                gone.aborted |= not gone.listener.ended.is_set()
                self.toy.engine.abort(gone.stream.request_id)
        self.toy.store.refuses = False
        async with asyncio.timeout(20):
            for each in self.asked:
                await self.end_of(each)
            # All copies must end before the event loop does.
            await self.toy.engine.stop(20.0)

    async def fill_tiers(self) -> None:
        """Compute the shared prefix, and wait for its copies to the lower tiers."""
        await self.ask((*COMMON, 0))
        await self.end_of(self.asked[0])
        for _ in range(200):
            await asyncio.sleep(0)

    async def end_of(self, asked: Asked) -> None:
        """Wait for the end of a stream. If its listener failed, only a reader receives the end."""
        if any(output.finished for output in asked.listener.outputs):
            return
        reading = asyncio.ensure_future(anext(asked.stream))
        ended = asyncio.ensure_future(asked.listener.ended.wait())
        await asyncio.wait((reading, ended), return_when=asyncio.FIRST_COMPLETED)
        if reading.done():
            asked.listener.outputs.append(reading.result())
        reading.cancel()
        ended.cancel()

    def check_engine(self) -> None:
        """Raise AssertionError if the engine is inconsistent or holds blocks, loads or slots."""
        assert not self.toy.executor.wrong, self.toy.executor.wrong
        scheduler = self.toy.scheduler
        assert_no_leaks(scheduler)
        assert scheduler.blocks.pool.num_used == 0
        assert scheduler.connector.is_quiet
        assert_no_leaks(self.toy.store)


def lead(seed: int, owner: type, name: str) -> int:
    """Run one life with one injector. Return the number of errors that it raised."""
    rng = random.Random(f"{seed} {owner.__name__} {name}")
    at = {rng.randrange(1, rng.choice((2, 4, 20, 60))) for _ in range(rng.randrange(1, 3))}
    if seed % 3 == 0:
        # Some methods are called only a few times in a life.
        at.add(1)
    late = rng.random() < 0.5 and owner not in (ToyExecutor, ToyMask)
    injector = Injector(owner, name, at, late, rng.choice((RuntimeError, AssertionError, KeyError, Panic)))
    if owner is ToyWorker:
        injector.defect = rng.choice((RuntimeError, Panic))
    life = Life(seed, speculation=(owner, name) in SPECULATION or rng.random() < 0.2)
    with injector.active():
        asyncio.run(life.run())
    life.check_engine()
    failed = [each for each in life.asked if each.listener.outputs[-1].finish_reason == "error"]
    for each in life.asked:
        if each not in failed:
            each.check_text()
    if (owner, name) in OF_ONE_REQUEST:
        # A client that can cause such a defect must not be able to exhaust the rebuilds.
        assert not life.toy.engine.stats().steps.rebuilds
    if owner is ToyMask:
        assert all(each.is_masked for each in failed)
    elif owner is ToyWorker:
        assert {each.stream.request_id for each in failed} <= life.toy.executor.failed
    elif (owner, name) in OF_ONE_REQUEST:
        assert len(failed) <= injector.num_raised
    else:
        assert not failed
    assert not life.toy.engine.is_broken
    assert all(each.listener.outputs[-1].error for each in failed)
    return injector.num_raised


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    """Silence the log, which would hold the tracebacks of thousands of injected defects."""
    logging.disable(logging.CRITICAL)
    yield
    logging.disable(logging.NOTSET)


@pytest.mark.parametrize(("owner", "name"), PLACES, ids=[f"{owner.__name__}.{name}" for owner, name in PLACES])
def test_defect_harms_only_requests_concerned(owner: type, name: str, size: Size) -> None:
    enough, most = size.pick(small=(2, 6), full=(400, 400))
    raised = 0
    for seed in range(most):
        if seed < enough or not raised:
            raised += lead(seed, owner, name)
    assert raised, "the defect was never injected"


def test_lives_without_defect_have_expected_texts(size: Size) -> None:
    for seed in range(size.pick(small=10, full=1000)):
        life = Life(seed, speculation=seed % 2 == 0)
        asyncio.run(life.run())
        life.check_engine()
        assert not life.toy.engine.stats().steps.rebuilds
        for each in life.asked:
            each.check_text()


def test_defect_that_persists_makes_engine_give_up() -> None:
    async def live() -> ToyEngine:
        toy = ToyEngine()
        await toy.engine.start()
        [stream] = await toy.engine.generate(
            GenerateRequest(prompt_token_ids=[1, 2, 3], params=SamplingParams(temperature=0.0, max_tokens=4, seed=0))
        )
        async with asyncio.timeout(20):
            assert (await anext(stream)).finish_reason == "abort"
        with pytest.raises(NotReadyError, match="the server is restarting"):
            await toy.engine.generate(
                GenerateRequest(prompt_token_ids=[1], params=SamplingParams(temperature=0.0, max_tokens=4, seed=0))
            )
        await toy.engine.stop(1.0)
        return toy

    with Injector(Scheduler, "schedule", set(range(1, 1000)), late=False, defect=Panic).active():
        engine = asyncio.run(live()).engine
    assert engine.is_broken
    assert f"its scheduler failed {MAX_REBUILDS + 1} times within 600 s" in engine.why_gave_up
    assert "Panic: injected into Scheduler.schedule" in engine.why_gave_up
    assert engine.stats().steps.rebuilds == MAX_REBUILDS


def test_hung_step_makes_engine_give_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(step_timing, "LEAST_SECONDS", 0.05)

    async def live() -> ToyEngine:
        toy = ToyEngine()
        toy.executor.held = True
        await toy.engine.start()
        [stream] = await toy.engine.generate(
            GenerateRequest(prompt_token_ids=[1, 2, 3], params=SamplingParams(temperature=0.0, max_tokens=4, seed=0))
        )
        async with asyncio.timeout(20):
            assert (await anext(stream)).finish_reason == "abort"
            await toy.engine.gave_up.wait()
        return toy

    toy = asyncio.run(live())
    assert "a step did not end within 0.05 s" in toy.engine.why_gave_up
