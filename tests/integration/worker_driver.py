"""A driver that runs a worker as a scheduler does, with one request or several at a time."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import torch

from cache_tiers.transfer import TransferJob
from engine.api.sampling_params import SamplingParams
from engine.config import CacheConfig, EngineConfig, ModelConfig
from engine.executor.uniproc import UniProcExecutor
from engine.request.scheduler_output import CachedRequestData, ModelRunnerOutput, NewRequestData, SchedulerOutput
from engine.worker.worker import Worker
from models.interface.dense_context import DenseContext
from models.registry import load_model

BLOCK = 16
GREEDY = SamplingParams(temperature=0.0)


def engine_config(model: Path, dtype: str = "float32") -> EngineConfig:
    return EngineConfig(
        model=ModelConfig(path=model, name="tiny", dtype=dtype),
        cache=CacheConfig(tiers=None, secret=b"secret", block_size=BLOCK),
    )


class WorkerDriver:
    """Worker with `num_blocks` device blocks, and a host pool of `host_blocks` blocks in place of the CPU tier."""

    def __init__(
        self,
        model: Path,
        *,
        dtype: str = "float32",
        num_blocks: int = 64,
        host_blocks: int = 8,
        config: EngineConfig | None = None,
    ) -> None:
        self.worker = Worker(config or engine_config(model, dtype))
        self.executor = UniProcExecutor(self.worker)
        self.executor.call(self.worker.load)
        self.block_nbytes = self.worker.kv_layout().nbytes
        self.host = bytearray(host_blocks * self.block_nbytes)
        self.executor.call(self.worker.init_kv, num_blocks)
        self.executor.call(self.worker.attach_host_pool, memoryview(self.host))
        self.steps = 0

    def plan(
        self,
        scheduled: Mapping[str, int] | None = None,
        *,
        new: Iterable[NewRequestData] = (),
        cached: Mapping[str, int] | None = None,
        dropped: Iterable[str] = (),
        loads: Iterable[TransferJob] = (),
        stores: Iterable[TransferJob] = (),
    ) -> SchedulerOutput:
        """Plan the next step.

        scheduled: number of tokens to compute, by request id.
        cached: num_computed_tokens of requests that the worker knows already, by request id.
        """
        self.steps += 1
        return SchedulerOutput(
            step_id=self.steps,
            new_requests=tuple(new),
            cached_requests=tuple(CachedRequestData(name, (), done) for name, done in (cached or {}).items()),
            num_scheduled_tokens=scheduled or {},
            dropped_request_ids=tuple(dropped),
            loads=tuple(loads),
            stores=tuple(stores),
        )

    def run(self, step: SchedulerOutput) -> ModelRunnerOutput:
        return self.executor.execute(step).result(timeout=60)

    def generate(
        self,
        prompt: Sequence[int],
        count: int,
        *,
        params: SamplingParams = GREEDY,
        blocks: Sequence[int] = tuple(range(20)),
        chunk: int = 10_000,
        computed: int = 0,
        prompt_len: int | None = None,
    ) -> list[int]:
        """Generate `count` tokens after `prompt`, then drop the request.

        chunk: the largest number of tokens of a step.
        computed: tokens whose KV is already in `blocks`.
        prompt_len: None stands for all of `prompt`; tokens after it count as generated.
        """
        tokens = list(prompt)
        new = [NewRequestData("r", tuple(tokens), prompt_len or len(tokens), tuple(blocks), computed, params)]
        while len(tokens) < len(prompt) + count:
            size = min(chunk, len(tokens) - computed)
            result = self.run(self.plan({"r": size}, new=new, cached={} if new else {"r": computed}))
            new = []
            computed += size
            tokens += tokens_of(result)
        self.run(self.plan(dropped=["r"]))
        return tokens[len(prompt) :]


def tokens_of(result: ModelRunnerOutput) -> list[int]:
    """Join the sampled tokens of a step, request by request."""
    return [token for tokens in result.sampled_token_ids.values() for token in tokens]


def dense_greedy(model: Path, prompt: Sequence[int], count: int) -> list[int]:
    """Generate greedy tokens in float32 without any cache, by recomputing the whole sequence for each token."""
    network = load_model(model, torch.float32, torch.device("cpu"))
    tokens = list(prompt)
    for _ in range(count):
        hidden = network.forward(torch.tensor(tokens), torch.arange(len(tokens)), DenseContext(network.attention))
        tokens.append(int(network.compute_logits(hidden[-1:]).argmax()))
    return tokens[len(prompt) :]
