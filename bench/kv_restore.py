"""Time to restore a prompt from a slow Redis whose values went through a codec, by patching the Redis client."""

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Final
from unittest.mock import patch

import torch

from app.config.settings import Settings
from bench.kv_agreement import block_shape
from bench.kv_codecs import Codec
from bench.links import NobodyKnows, ttft
from bench.long_prompt import prompt
from bench.slow_link import SlowLink
from bench.stats import median
from cache_tiers.config import TierConfig
from cache_tiers.lower.sealed_value import HEADER_BYTES, BlockSeal, Reject
from cache_tiers.lower.tier import Block
from cache_tiers.moves.load_cost import LoadCost
from cache_tiers.redis import block_commands, jobs
from cache_tiers.redis.block_commands import put_block
from cache_tiers.redis.block_format import BlockFormat
from cache_tiers.redis.companion import RedisCompanion
from cache_tiers.redis.resp import ErrorReply, RespConnection
from cache_tiers.redis.server_binary import find_redis_server
from engine.api.sampling_params import SamplingParams
from engine.config import CacheConfig, DeviceConfig, EngineConfig, ModelConfig
from engine.llm import LLM
from engine.offload.connector import OffloadConnector
from engine.worker.native.step_arrays import PAGE_KEYS

LATENCY: Final = 0.001
RATE: Final = 100e6
BLOCKS: Final = 16
PROMPTS: Final = 2
ROUNDS: Final = 9
FLUSH_SECONDS: Final = 60.0
_MIB: Final = 1 << 20


class EncodedValues:
    """Replacements for the functions that write and read one value.

    A value is encoded before its MAC is computed, and decoded after the MAC was verified. Both attributes change only
    while no job is running.

    codec: codec of all values from now on.
    decoded: number of values read.
    """

    def __init__(self, codec: Codec, shape: Sequence[int]) -> None:
        """Create the replacements, with `codec` for blocks of `shape`."""
        self.codec = codec
        self.decoded = 0
        self._shape = tuple(shape)

    def put(self, connection: RespConnection, block: Block, layout: BlockFormat) -> ErrorReply | None:
        """See `put_block`."""
        torch.set_num_threads(1)
        value = self.codec.encode(self._numbers(block))
        return put_block(connection, Block(block.key, memoryview(value)), layout)

    def receive(self, connection: RespConnection, block: Block, seal: BlockSeal) -> Reject | bool:
        """See `block_commands`."""
        torch.set_num_threads(1)
        length = connection.read_bulk_length()
        if not isinstance(length, int):
            return False
        header, value = bytearray(HEADER_BYTES), bytearray(length - HEADER_BYTES)
        connection.read_into(memoryview(header))
        connection.read_into(memoryview(value))
        connection.end_bulk()
        reject = seal.check_header(block.key, header, length, len(value))
        reject = reject or seal.check_payload(header, memoryview(value))
        if reject is not None:
            return reject
        self.codec.decode(value, self._numbers(block))
        self.decoded += 1
        return True

    def _numbers(self, block: Block) -> torch.Tensor:
        return torch.frombuffer(block.payload, dtype=torch.bfloat16).view(self._shape)


def measure_restores(settings: Settings, folder: Path, codecs: Sequence[Codec]) -> dict[str, float]:
    """Return the milliseconds to the first token by codec, each the median of ROUNDS.

    The codecs take turns on one engine. `folder` is the model's.
    """
    prompts = {
        codec.name: [prompt(BLOCKS * PAGE_KEYS + 1, at * PROMPTS + salt) for salt in range(PROMPTS)]
        for at, codec in enumerate(codecs)
    }
    values = EncodedValues(codecs[0], block_shape(folder))
    with (
        tempfile.TemporaryDirectory(prefix="ebb-kv-") as root,
        _behind_a_link(settings, folder, Path(root)) as (link, llm),
        patch.object(jobs, "put_block", values.put),
        patch.object(block_commands, "_receive", values.receive),
    ):
        for values.codec in codecs:
            for token_ids in prompts[values.codec.name]:
                llm.generate([token_ids], SamplingParams(temperature=0.0, max_tokens=1))
            assert llm.tiers.store is not None
            assert llm.tiers.store.flush(FLUSH_SECONDS), "a block did not reach Redis"
        link.set(LATENCY, RATE)
        found: dict[str, list[float]] = {codec.name: [] for codec in codecs}
        for number in range(ROUNDS):
            for values.codec in codecs:
                name = values.codec.name
                found[name].append(_restore(llm, values, prompts[name][number % PROMPTS]))
            print(f"restores: round {number + 1} of {ROUNDS}", flush=True)
    return {name: median(times) for name, times in found.items()}


def _restore(llm: LLM, values: EncodedValues, token_ids: Sequence[int]) -> float:
    before = values.decoded
    milliseconds = ttft(llm, token_ids)
    assert values.decoded - before >= BLOCKS, f"only {values.decoded - before} blocks came from Redis"
    return milliseconds


@contextmanager
def _behind_a_link(settings: Settings, folder: Path, root: Path) -> Iterator[tuple[SlowLink, LLM]]:
    """Yield an engine that loads whatever its Redis has, and the link to that Redis, which is still fast."""
    binary = find_redis_server()
    assert binary is not None, "this benchmark needs redis-server on PATH"
    with ExitStack() as stack:
        companion = RedisCompanion(root / "redis", binary=binary, max_memory=1024 * _MIB)
        stack.callback(companion.stop)
        companion.start()
        assert companion.address.unix_path is not None
        link = stack.enter_context(SlowLink(root / "link", companion.address.unix_path))
        config = EngineConfig(
            model=ModelConfig(path=folder, name=settings.model),
            cache=CacheConfig(
                tiers=TierConfig(512 * _MIB, f"unix://{root / 'link'}", 0, root),
                secret=b"of the benchmark",
                kv_memory=256 * _MIB,
            ),
            device=DeviceConfig(cache_dir=settings.cache_dir),
        )
        llm = stack.enter_context(LLM(config))
        connector = llm.engine.core.scheduler.connector
        assert isinstance(connector, OffloadConnector)
        connector.prefill = NobodyKnows()
        connector.tiers.cost = LoadCost(connector.tiers.cost.block_nbytes, deadline=600.0)
        yield link, llm
