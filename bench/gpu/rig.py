"""Worker with a random-weight openPangu, created in device memory and driven step by step."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

import torch

from cache_tiers.transfer import Direction, TransferJob
from engine.api.sampling_params import SamplingParams
from engine.config import CacheConfig, DeviceConfig, EngineConfig, ModelConfig, SchedulerConfig
from engine.device.choice import block_size_for
from engine.request.scheduler_output import CachedRequestData, ModelRunnerOutput, NewRequestData, SchedulerOutput
from engine.worker.worker import Worker
from models.decoder.config import DecoderConfig
from models.decoder.model import DecoderForCausalLM
from models.interface.parallel import RankGroup
from models.interface.partition import Stage
from models.layers.kinds import LayerKinds
from models.pangu.presets import OPENPANGU_EMBEDDED_7B
from models.registry import read_config

GREEDY: Final = SamplingParams(temperature=0.0)
PANGU_7B: Final = read_config(OPENPANGU_EMBEDDED_7B)


@dataclass(frozen=True, slots=True)
class Scale:
    """Sizes of the measurements.

    streams: numbers of streams that decode together.
    context: tokens of each decoding stream.
    steps: decode steps per measurement.
    chat: tokens of the returning chat.
    chunk: prompt tokens computed in one step.
    copied: blocks per round of copies.
    """

    model: DecoderConfig = PANGU_7B
    device: str = "cuda"
    streams: tuple[int, ...] = (1, 32, 128)
    context: int = 1024
    steps: int = 64
    chat: int = 32_000
    chunk: int = 2048
    copied: int = 256


SMALL: Final = Scale(
    model=replace(
        PANGU_7B,
        hidden_size=128,
        intermediate_size=256,
        layers=PANGU_7B.layers[:2],
        num_heads=4,
        num_kv_heads=2,
        head_dim=32,
        vocab_size=1024,
        max_position_embeddings=2048,
    ),
    streams=(1, 4),
    context=128,
    steps=4,
    chat=1000,
    chunk=256,
    copied=8,
)
"""Small sizes that show that the benchmark runs on any machine. The figures mean nothing."""


def random_model(
    config: DecoderConfig, dtype: torch.dtype, device: torch.device, **kinds: object
) -> DecoderForCausalLM:
    """Create a model with weights that are the same for the same arguments.

    The weights are scaled so that the greedy tokens vary.
    """
    model = DecoderForCausalLM(config, dtype=dtype, device=device, **kinds)  # type: ignore[arg-type]
    generator = torch.Generator(device).manual_seed(1)
    for name, tensor in model.slots().items():
        if name.endswith("norm.weight"):
            tensor.fill_(1.0)
        elif name.endswith("bias"):
            tensor.normal_(0, 0.1, generator=generator)
        else:
            tensor.normal_(0, tensor.shape[1] ** -0.5, generator=generator)
    return model


class Rig:
    """One worker. Use as a context manager."""

    def __init__(
        self,
        scale: Scale,
        *,
        blocks: int,
        host_blocks: int = 0,
        attention: str = "auto",
        graphs: bool = True,
        dtype: str = "bfloat16",
        max_num_seqs: int = 1,
    ) -> None:
        """Load the worker and allocate its KV.

        blocks: blocks of the device's pool.
        host_blocks: blocks of pinned memory that stand in for the CPU tier.
        """
        self.block_size = block_size_for(scale.device)
        self.scale = scale
        config = EngineConfig(
            model=ModelConfig(path=Path(), name="random", dtype=dtype),
            cache=CacheConfig(tiers=None, secret=b"secret", block_size=self.block_size),
            scheduler=SchedulerConfig(max_num_seqs=max_num_seqs, max_num_batched_tokens=scale.chunk),
            device=DeviceConfig(kind=scale.device, attention=attention, decode_graphs=graphs, cpu_kernels="torch"),
        )

        def load(
            _path: Path,
            dtype: torch.dtype,
            device: torch.device,
            layers: LayerKinds,
            ranks: RankGroup,
            _window: int | None,
            *,
            keep_packed: bool,  # noqa: ARG001 - nothing is packed
            stage: Stage | None,  # noqa: ARG001 - there is one
        ) -> DecoderForCausalLM:
            return random_model(scale.model, dtype, device, layers=layers, ranks=ranks)

        self.worker = Worker(config, load, progress=lambda text: print(f"  {text}", flush=True))
        self.worker.load()
        self.worker.init_kv(blocks)
        self.block_nbytes = self.worker.kv_layout().nbytes
        self._host = torch.zeros(max(1, host_blocks) * self.block_nbytes, dtype=torch.uint8)
        if scale.device != "cpu":
            self._host = self._host.pin_memory()
        self.worker.attach_host_pool(self._host.numpy().data)
        self._steps = 0

    def __enter__(self) -> "Rig":
        return self

    def __exit__(self, *_: object) -> None:
        self.worker.close()

    def step(
        self,
        scheduled: Mapping[str, int] | None = None,
        *,
        new: Sequence[NewRequestData] = (),
        cached: Mapping[str, int] | None = None,
        dropped: Sequence[str] = (),
        loads: Sequence[TransferJob] = (),
        stores: Sequence[TransferJob] = (),
    ) -> tuple[ModelRunnerOutput, float]:
        """Execute one step. Return its output and its total duration in seconds.

        scheduled: tokens to compute by request.
        cached: tokens with KV by request, for requests that are not new.
        """
        self._steps += 1
        output = SchedulerOutput(
            step_id=self._steps,
            new_requests=tuple(new),
            cached_requests=tuple(CachedRequestData(name, (), done) for name, done in (cached or {}).items()),
            num_scheduled_tokens=scheduled or {},
            dropped_request_ids=tuple(dropped),
            loads=tuple(loads),
            stores=tuple(stores),
        )
        began = time.perf_counter()
        result = self.worker.execute(output)
        return result, time.perf_counter() - began

    def request(self, name: str, tokens: Sequence[int], first_block: int, *, computed: int = 0) -> NewRequestData:
        """Create a request with blocks, from `first_block` on, for its tokens and 200 more."""
        count = self.blocks_for(len(tokens) + 200)
        blocks = tuple(range(first_block, first_block + count))
        return NewRequestData(name, tuple(tokens), len(tokens), blocks, computed, GREEDY)

    def blocks_for(self, tokens: int) -> int:
        """Return the number of blocks that hold `tokens` tokens."""
        return -(-tokens // self.block_size)

    def moves(self, direction: Direction, count: int, *, first_block: int = 0) -> list[TransferJob]:
        """Create jobs that copy the first `count` blocks of host memory to or from the blocks from `first_block` on."""
        return [TransferJob(at, direction, first_block + at, at * self.block_nbytes) for at in range(count)]

    def load(self, jobs: Sequence[TransferJob]) -> float:
        """Copy blocks from host memory, and return the seconds. No step may use the blocks before this returns."""
        result, seconds = self.step(loads=jobs)
        for move in result.transfers:
            assert move.error is None, move.error
        return seconds

    def prefill(self, request: NewRequestData) -> tuple[int, float]:
        """Compute a request's tokens in chunks, then drop it. Return its first token and the seconds until then."""
        done, seconds = request.num_computed_tokens, 0.0
        sampled: tuple[int, ...] = ()
        while done < len(request.token_ids):
            count = min(self.scale.chunk, len(request.token_ids) - done)
            first = done == request.num_computed_tokens
            result, took = self.step(
                {request.request_id: count},
                new=[request] if first else [],
                cached={} if first else {request.request_id: done},
            )
            seconds, done = seconds + took, done + count
            sampled = result.sampled_token_ids.get(request.request_id, ())
        self.step(dropped=[request.request_id])
        return sampled[0], seconds


def prompt(salt: int, length: int, vocab: int) -> list[int]:
    """Make up token ids. Two salts share no prefix."""
    return [3 + (salt * 7919 + at * (31 + 2 * salt) + at // 13) % (vocab - 3) for at in range(length)]
