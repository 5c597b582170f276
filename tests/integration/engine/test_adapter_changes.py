"""Adapters that are loaded and unloaded while the engine serves, in every division of the model among processes."""

import asyncio
import os
import signal
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final

import pytest

from engine.api.errors import InvalidRequestError, NotFoundError
from engine.api.generate_request import GenerateRequest
from engine.api.request_stream import RequestStream
from engine.api.sampling_params import SamplingParams
from engine.config import CacheConfig, DeviceConfig, EngineConfig, ModelConfig, SpeculationConfig
from engine.executor.uniproc import UniProcExecutor
from engine.fleet.build import build_fleet
from engine.fleet.remote_engine import RemoteEngine
from engine.loop.async_llm import AsyncLLMEngine
from engine.wiring.build import build_engine
from engine.worker.worker import Worker
from tests.conftest import default_cache_dir
from tests.integration.engine_rig import SECRET
from tests.tiny_adapters import make_adapter
from tests.tiny_models import make_tiny_model
from tests.tiny_prompts import make_prompt

PROMPT: Final = [5 + at * 7 % 200 for at in range(150)]
Engine = AsyncLLMEngine | RemoteEngine


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_tiny_model(tmp_path_factory.mktemp("changes") / "model", hidden=128, heads=2, kv_heads=2)


@pytest.fixture
def folder(model: Path, tmp_path: Path) -> Path:
    """Return a folder of adapters with one adapter."""
    make_adapter(tmp_path / "adapters" / "poet", model, seed=1)
    return tmp_path / "adapters"


@asynccontextmanager
async def opened(model: Path, folder: Path, replicas: int = 1, **fields: Any) -> AsyncIterator[Engine]:
    config = EngineConfig(
        model=ModelConfig(path=model, name="base", adapters_dir=folder),
        cache=CacheConfig(tiers=None, secret=SECRET, kv_memory=8 << 20),
        device=DeviceConfig(cache_dir=default_cache_dir()),
        speculation=SpeculationConfig(prompt_lookup=False),
    ).with_fields(**fields)
    build: Callable[[], Engine] = lambda: build_engine(config, lambda _: None)  # noqa: E731
    if replicas > 1:
        build = lambda: build_fleet(config, replicas, lambda _: None)  # noqa: E731
    engine = await asyncio.to_thread(build)
    await engine.start()
    try:
        yield engine
    finally:
        await engine.stop(0.0)


async def begun(engine: Engine, adapter: str, count: int = 12) -> RequestStream:
    params = SamplingParams(temperature=0.0, max_tokens=count, ignore_eos=True)
    [stream] = await engine.generate(GenerateRequest(prompt_token_ids=PROMPT, params=params, adapter=adapter))
    return stream


async def answered(engine: Engine, adapter: str, count: int = 12) -> tuple[list[int], int]:
    """Return the ids of an answer, and the number of cached tokens of its prompt."""
    ids, cached = list[int](), -1
    async for output in await begun(engine, adapter, count):
        ids += output.token_ids
        if output.usage is not None:
            cached = output.usage.kv.cached
    return ids, cached


DIVISIONS: Final = [
    pytest.param({}, id="native"),
    pytest.param({"cpu_kernels": "torch"}, id="torch"),
    pytest.param({"cpu_kernels": "torch", "tensor_parallel_size": 2}, id="ranks", marks=pytest.mark.many_processes),
    pytest.param({"pipeline_parallel_size": 2}, id="stages", marks=pytest.mark.many_processes),
    pytest.param({"replicas": 2}, id="replicas", marks=pytest.mark.many_processes),
]


@pytest.mark.parametrize("division", DIVISIONS)
async def test_adapters_change_in_every_process(model: Path, folder: Path, division: dict[str, Any]) -> None:
    async with opened(model, folder, **division) as engine:
        base, poet = await answered(engine, ""), await answered(engine, "poet")
        make_adapter(folder / "coder", model, seed=2)
        with pytest.raises(InvalidRequestError, match="there is no adapter 'coder'"):
            await answered(engine, "coder")
        await engine.load_adapter("coder", in_place=False)
        assert list(engine.adapters) in (["poet", "coder"], ["coder", "poet"])
        loaded = await answered(engine, "coder")
        await engine.unload_adapter("poet")
        for _ in range(4):
            with pytest.raises(InvalidRequestError, match="there is no adapter 'poet'"):
                await answered(engine, "poet")
        assert (await answered(engine, ""))[0] == base[0]
        # The KV that the adapter computed serves again once it is back.
        await engine.load_adapter("poet", in_place=False)
        assert (await answered(engine, "poet"))[0] == poet[0]
    async with opened(model, folder, **division) as engine:
        assert (await answered(engine, "coder"))[0] == loaded[0]
    assert len({tuple(ids) for ids, _ in (base, poet, loaded)}) == 3


def held_by(engine: Engine) -> set[str]:
    """Return the digests of the adapters in the worker's memory."""
    assert isinstance(engine, AsyncLLMEngine)
    executor = engine._engine.core.executor
    assert isinstance(executor, UniProcExecutor)
    assert isinstance(executor._worker, Worker)
    return executor._worker.adapters._digests


async def until_held(engine: Engine, digests: set[str]) -> None:
    async with asyncio.timeout(20):
        # A thread frees an adapter, at a moment that a test cannot wait for.
        while held_by(engine) != digests:  # noqa: ASYNC110
            await asyncio.sleep(0.005)


@pytest.mark.parametrize("kind", ["PROMPT_TUNING", "PREFIX_TUNING"])
@pytest.mark.parametrize("kernels", ["auto", pytest.param("torch", marks=pytest.mark.many_processes)])
async def test_prompt_adapter_is_loaded_and_freed(model: Path, folder: Path, kernels: str, kind: str) -> None:
    async with opened(model, folder, cpu_kernels=kernels) as engine:
        base, poet = await answered(engine, ""), engine.adapters["poet"].digest
        make_prompt(folder / "soft", model, kind, tokens=100, size=5.0)
        soft = await engine.load_adapter("soft", in_place=False)
        first = await answered(engine, "soft")
        assert first[0] != base[0]
        assert held_by(engine) == {poet, soft.digest}
        await engine.unload_adapter("soft")
        await until_held(engine, {poet})
        with pytest.raises(InvalidRequestError, match="there is no adapter 'soft'"):
            await answered(engine, "soft")
        await engine.load_adapter("soft", in_place=False)
        again = await answered(engine, "soft")
        assert again[0] == first[0]
        assert again[1] > 0


@pytest.mark.parametrize("kernels", ["auto", pytest.param("torch", marks=pytest.mark.many_processes)])
async def test_running_answer_keeps_its_adapter(model: Path, folder: Path, kernels: str) -> None:
    async with opened(model, folder, cpu_kernels=kernels) as engine:
        expected, _ = await answered(engine, "poet", 200)
        digest = engine.adapters["poet"].digest
        stream = await begun(engine, "poet", 200)
        ids = list((await anext(stream)).token_ids)
        make_adapter(folder / "poet", model, seed=2)
        await engine.load_adapter("poet", in_place=True)
        assert engine.adapters["poet"].digest != digest
        other, cached = await answered(engine, "poet", 12)
        assert cached == 0
        await engine.unload_adapter("poet")
        assert digest in held_by(engine)
        async for output in stream:
            ids += output.token_ids
        assert ids == expected
        assert ids[:12] != other
        await until_held(engine, set())


async def test_copy_under_another_name_stays_when_one_is_unloaded(model: Path, folder: Path) -> None:
    make_adapter(folder / "copy", model, seed=1)
    async with opened(model, folder) as engine:
        expected = await answered(engine, "poet")
        await engine.unload_adapter("poet")
        ids, cached = await answered(engine, "copy")
        assert ids == expected[0]
        assert cached >= 128
        await engine.load_adapter("poet", in_place=False)
        await engine.unload_adapter("copy")
        assert (await answered(engine, "poet"))[0] == expected[0]


async def test_refused_load_changes_nothing(model: Path, folder: Path, tmp_path: Path) -> None:
    make_adapter(tmp_path / "outside", model, seed=3)
    make_adapter(folder / "misfit", make_tiny_model(tmp_path / "other", hidden=64), seed=3)
    make_adapter(folder / "called", model, config={"alora_invocation_tokens": [65, 66]})
    async with opened(model, folder, adapters=("poet",)) as engine:
        assert list(engine.adapters) == ["poet"]
        before = held_by(engine).copy()
        for name in ("../outside", str(tmp_path / "outside"), "..", "", "missing", "poet/../../outside"):
            with pytest.raises(NotFoundError, match="The folder of adapters has no adapter"):
                await engine.load_adapter(name, in_place=False)
        for name, message in (
            ("poet", "is loaded already"),
            ("misfit", "does not fit the model"),
            ("called", "have no control token"),
        ):
            with pytest.raises(InvalidRequestError, match=message) as refusal:
                await engine.load_adapter(name, in_place=False)
            assert refusal.value.param == "lora_name"
        with pytest.raises(NotFoundError, match=r"No adapter 'misfit' is loaded. Loaded: 'poet'"):
            await engine.unload_adapter("misfit")
        await until_held(engine, before)
        assert list(engine.adapters) == ["poet"]


@pytest.mark.many_processes
@pytest.mark.parametrize("division", [{"pipeline_parallel_size": 2}, {"replicas": 2}], ids=["stages", "replicas"])
async def test_restarted_processes_have_the_loaded_adapters(
    model: Path, folder: Path, division: dict[str, Any]
) -> None:
    make_adapter(folder / "gone", model, seed=5)
    async with opened(model, folder, **division) as engine:
        make_adapter(folder / "coder", model, seed=2)
        await engine.load_adapter("coder", in_place=False)
        await engine.unload_adapter("gone")
        expected, _ = await answered(engine, "coder", 60)
        make_adapter(folder / "unasked", model, seed=6)
        stream = await begun(engine, "coder", 60)
        ids = list((await anext(stream)).token_ids)
        for pid in _pids(engine):
            os.kill(pid, signal.SIGKILL)
        async for output in stream:
            ids += output.token_ids
        assert ids == expected
        assert sorted(engine.adapters) == ["coder", "poet"]
        assert (await answered(engine, "coder", 60))[0] == expected


def _pids(engine: Engine) -> list[int]:
    stats = engine.stats()
    pids = (
        [each.pid for each in stats.replicas] if stats.replicas else list(stats.workers.pids if stats.workers else ())
    )
    return [pid for pid in pids if pid is not None]
