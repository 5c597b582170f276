"""Graphs and restored KV of a worker on a fake cuda device with interpreted kernels."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from cache_tiers.transfer import Direction, TransferJob
from engine.config import CacheConfig, DeviceConfig, EngineConfig, ModelConfig
from engine.request.scheduler_output import NewRequestData
from engine.worker.torch.device import Graph
from models.layers.cuda import cuda_layers
from models.layers.kinds import LayerKinds
from tests.contract.npu_rig import prompt
from tests.fake_npu.device import FakeNpu
from tests.integration.worker_driver import GREEDY, WorkerDriver, tokens_of
from tests.tiny_models import make_tiny_model

BLOCK = 16
BLOCKS = tuple(range(6))
PROMPT = prompt(1, 50)


class CalledGraph:
    """Graph with CUDA's semantics: a replay ignores its arguments and reads the captured tensors."""

    def __init__(self) -> None:
        self.replays = 0
        self._compute: Callable[[], torch.Tensor] | None = None
        self._result = torch.empty(0)

    def capture(self, compute: Callable[[], torch.Tensor]) -> torch.Tensor:
        self._compute = compute
        self._result = torch.full_like(compute(), float("nan"))
        return self._result

    def replay(self, seq_lens: Sequence[int]) -> None:
        assert self._compute is not None
        self.replays += 1
        self._result.copy_(self._compute())


class FakeCuda(FakeNpu):
    """A fake GPU with the streams and copies of the fake NPU."""

    name = "cuda"

    def __init__(self) -> None:
        super().__init__()
        self.called: list[CalledGraph] = []

    def layers(self, *, check: bool) -> LayerKinds:
        return cuda_layers()

    def new_graph(self) -> Graph | None:
        self.called.append(CalledGraph())
        return self.called[-1]


@pytest.fixture
def device(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeCuda]:
    threads = torch.get_num_threads()
    device = FakeCuda()
    monkeypatch.setattr("engine.worker.worker.open_device", lambda name: device)
    yield device
    torch.set_num_threads(threads)


@pytest.fixture(scope="session")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_tiny_model(tmp_path_factory.mktemp("kernels") / "llama")


def cuda_driver(model: Path, *, graphs: bool = True, attention: str = "auto", num_seqs: int = 3) -> WorkerDriver:
    config = EngineConfig(
        model=ModelConfig(path=model, name="tiny", dtype="float32"),
        cache=CacheConfig(tiers=None, secret=b"secret", block_size=BLOCK),
        device=DeviceConfig(kind="cuda"),
    )
    config = config.with_fields(decode_graphs=graphs, attention=attention, max_num_seqs=num_seqs)
    config = config.with_fields(max_model_len=96, max_num_batched_tokens=64, prompt_lookup=False)
    return WorkerDriver(model, config=config, num_blocks=24, host_blocks=4)


def test_captured_decodes_match_tokens_of_reference(device: FakeCuda, model: Path) -> None:
    driver = cuda_driver(model)
    tokens = driver.generate(PROMPT, 4, blocks=BLOCKS)
    assert sum(graph.replays for graph in device.called) == 1 + 3
    driver.executor.close()
    oracle = cuda_driver(model, attention="reference")
    assert tokens == oracle.generate(PROMPT, 4, blocks=BLOCKS)
    oracle.executor.close()


def test_captured_chunks_match_tokens_of_plain_steps(device: FakeCuda, model: Path) -> None:
    tokens = []
    for graphs in (True, False):
        driver = cuda_driver(model, graphs=graphs)
        new = [
            NewRequestData(name, tuple(prompt(salt, length)), length, blocks, 0, GREEDY)
            for name, salt, length, blocks in (("a", 1, 30, (0, 1, 2)), ("b", 2, 45, (3, 4, 5)))
        ]
        replays = sum(graph.replays for graph in device.called)
        results = [driver.run(driver.plan({"a": 30, "b": 20}, new=new))]
        results.append(driver.run(driver.plan({"a": 1, "b": 25}, cached={"a": 30, "b": 20})))
        results.append(driver.run(driver.plan({"a": 1, "b": 1}, cached={"a": 31, "b": 45})))
        assert sum(graph.replays for graph in device.called) - replays == 3 * graphs
        tokens.append([dict(result.sampled_token_ids) for result in results])
        driver.executor.close()
    assert tokens[0] == tokens[1]


def test_captured_draft_gives_tokens_of_plain_decodes(device: FakeCuda, model: Path) -> None:
    driver = cuda_driver(model)
    tokens = driver.generate(PROMPT, 5, blocks=BLOCKS)
    new = NewRequestData("r", tuple(PROMPT), len(PROMPT), BLOCKS, 0, GREEDY)
    drafted = tokens_of(driver.run(driver.plan({"r": len(PROMPT)}, new=[new])))
    replays = sum(graph.replays for graph in device.called)
    step = driver.plan({"r": 4}, cached={"r": len(PROMPT)})
    drafted += tokens_of(driver.run(replace(step, drafts={"r": tuple(tokens[1:4])})))
    assert drafted == tokens
    assert sum(graph.replays for graph in device.called) == replays + 1
    driver.executor.close()


def test_more_decodes_than_block_slots_use_several_spare_blocks(device: FakeCuda, model: Path) -> None:
    driver = cuda_driver(model, num_seqs=17)
    cache = driver.worker._cache
    assert cache is not None
    assert cache.pool.num_blocks == 24 + 2
    assert len(device.called) == 6 + 1
    driver.executor.close()


def test_prefix_restored_from_host_gives_same_tokens(device: FakeCuda, model: Path) -> None:
    driver = cuda_driver(model)
    size = driver.block_nbytes
    new = NewRequestData("first", tuple(PROMPT), len(PROMPT), BLOCKS, 0, GREEDY)
    stores = [TransferJob(at, Direction.STORE, at, at * size) for at in range(3)]
    first = tokens_of(driver.run(driver.plan({"first": len(PROMPT)}, new=[new], stores=stores)))
    # The results of copies come with a later step. Until then, nothing may read what they write.
    assert len(driver.run(driver.plan(dropped=["first"])).transfers) == len(stores)
    loads = [TransferJob(10 + at, Direction.LOAD, 10 + at, at * size) for at in range(3)]
    assert len(driver.run(driver.plan(loads=loads)).transfers) == len(loads)
    back = NewRequestData("back", tuple(PROMPT), len(PROMPT), (10, 11, 12, 13), 3 * BLOCK, GREEDY)
    result = driver.run(driver.plan({"back": len(PROMPT) - 3 * BLOCK}, new=[back]))
    assert tokens_of(result) == first
    driver.executor.close()
