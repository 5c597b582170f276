"""`ebb profile`: run a private engine under a synthetic load; write its steps as a Chrome trace and a table."""

import asyncio
import random
import sys
import time
from collections.abc import AsyncIterator
from dataclasses import asdict, replace
from pathlib import Path
from string import ascii_lowercase
from tempfile import TemporaryDirectory

import uvloop

from app.config.options import SettingsError
from app.config.settings import Settings
from app.host.backend import Backend
from app.host.startup import engine_builder
from app.profile.chrome_trace import write_trace
from app.profile.plan import ProfilePlan
from app.profile.summary import summary
from app.tenants.name import LOCAL
from app.version import VERSION
from engine.api.errors import EngineError
from engine.api.generate_request import GenerateRequest
from engine.api.sampling_params import SamplingParams
from engine.loop.step_trace import FORWARD
from engine.tracing import Recorder, Span, Trace, Track
from models.errors import ModelError

PROBE_SECONDS = 0.005
LATE_SECONDS = 0.002
"""Timers have a resolution of one millisecond, so a delay of less than two is not counted."""


def profile(settings: Settings, plan: ProfilePlan) -> int:
    """Record the steps, write the trace, print the table and return the exit status.

    A running server and its state directory are not touched. Raise EbbError.
    """
    if not plan.output.parent.is_dir():
        raise SettingsError(f"--output {plan.output}: the folder does not exist", param="output")
    settings.make_directories()
    recorder = Recorder()
    with TemporaryDirectory(prefix="ebb-profile-") as folder:
        state_dir = Path(folder)
        private = replace(settings, state_dir=state_dir, secret_file=state_dir / "secret", disk_kv_dir=state_dir / "kv")
        try:
            engine, _ = engine_builder(private, recorder)(_say)
        except ModelError as error:
            print(f"ebb: {error}", file=sys.stderr)
            return 1
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            spans = runner.run(_record(engine, plan, recorder))
    about = {"version": VERSION, "model": engine.model_name, **asdict(plan), "output": plan.output.name}
    write_trace(plan.output, spans, about)
    print("\n".join(summary(spans)))
    print(f"\n{plan.output}: open it in https://ui.perfetto.dev or chrome://tracing")
    return 0


async def _record(engine: Backend, plan: ProfilePlan, recorder: Recorder) -> list[Span]:
    await engine.start()
    try:
        # The first request also pays for one-time initialization in libraries.
        async for _ in _answer(engine, _tokens(engine, 8, random.Random(0)), 8):
            pass
        recorder.take()
        _say(f"recording {plan.steps} steps of {plan.streams} streams")
        return await _recorded(engine, plan, recorder)
    finally:
        await engine.stop(0.0)


async def _recorded(engine: Backend, plan: ProfilePlan, recorder: Recorder) -> list[Span]:
    enough = asyncio.Event()
    tasks = [asyncio.create_task(_converse(engine, plan, seed, recorder, enough)) for seed in range(plan.streams)]
    tasks.append(asyncio.create_task(_probe_loop(recorder)))
    recorded = asyncio.create_task(enough.wait())
    done, _ = await asyncio.wait([recorded, *tasks], return_when=asyncio.FIRST_COMPLETED)
    spans = recorder.take()
    for task in (recorded, *tasks):
        task.cancel()
    await asyncio.wait([recorded, *tasks])
    for task in done:
        # The other tasks do not end by themselves. If one did, this raises its error.
        task.result()
    return spans


async def _converse(engine: Backend, plan: ProfilePlan, seed: int, recorder: Recorder, enough: asyncio.Event) -> None:
    """Send one turn of a conversation after another, and start over when the window is full, until cancelled."""
    source = random.Random(seed)
    history: list[int] = []
    while True:
        if len(history) + plan.prompt_tokens + plan.output_tokens > engine.max_model_len:
            history = []
        history += _tokens(engine, plan.prompt_tokens, source)
        async for token_ids in _answer(engine, history, plan.output_tokens):
            history += token_ids
            if recorder.count(Track.MODEL, FORWARD) >= plan.steps:
                enough.set()


async def _answer(engine: Backend, prompt: list[int], tokens: int) -> AsyncIterator[tuple[int, ...]]:
    """Yield generated ids. Raise EngineError if the engine fails."""
    params = SamplingParams(temperature=0.0, max_tokens=tokens, ignore_eos=True)
    [stream] = await engine.generate(GenerateRequest(prompt_token_ids=prompt, params=params, tenant=LOCAL))
    async for output in stream:
        if output.error is not None:
            raise EngineError(output.error)
        yield output.token_ids


def _tokens(engine: Backend, count: int, source: random.Random) -> list[int]:
    """Return `count` ids of made-up words."""
    words = ("".join(source.choices(ascii_lowercase, k=5)) for _ in range(count))
    return engine.tokenizer.encode(" ".join(words), special=False)[:count]


async def _probe_loop(trace: Trace) -> None:
    """Record how late a timer fires, which is the time for which the loop was blocked."""
    while True:
        due = time.perf_counter() + PROBE_SECONDS
        await asyncio.sleep(PROBE_SECONDS)
        now = time.perf_counter()
        if now - due > LATE_SECONDS:
            trace.add(Track.LATENESS, "late", due, now)


def _say(sentence: str) -> None:
    print(sentence, file=sys.stderr, flush=True)
