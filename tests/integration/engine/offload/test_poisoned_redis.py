"""Corrupted values in Redis never change an answer: a corrupted block is rejected and recomputed."""

import random
from itertools import cycle, islice
from pathlib import Path

import pytest

from cache_tiers.lower.sealed_value import HEADER_BYTES, TAG_BYTES, BlockSeal, fingerprint_of
from cache_tiers.redis.keys import redis_key
from engine.api.generate_request import GenerateRequest
from engine.api.sampling_params import SamplingParams
from engine.api.urgency import NORMAL
from engine.llm import LLM
from tests.integration.engine_rig import BLOCK, SECRET, answer, engine_config
from tests.leaks import assert_no_leaks
from tests.mutations import MUTATIONS
from tests.redis_server import RedisServer
from tests.sizes import Size
from tests.waiting import until

pytest_plugins = ["tests.store_fixtures"]
pytestmark = pytest.mark.usefixtures("patient_loads")

PROMPTS = 8
BLOCKS_EACH = 3
ANSWER = 4
GREEDY = SamplingParams(temperature=0.0, max_tokens=ANSWER)


def test_mutated_block_in_redis_never_changes_answer(
    shallow_model: Path, tmp_path: Path, redis_server: RedisServer, size: Size
) -> None:
    """Run without a CPU tier and with room for half of the prompts on the device, so each is restored from Redis."""
    config = engine_config(
        shallow_model, tmp_path / "state", cpu_memory=0, blocks=12, redis_url=f"unix://{redis_server.address.unix_path}"
    )
    prompts = [[1000 + (n * 977 + at * 13) % 20000 for at in range(BLOCKS_EACH * BLOCK + 1)] for n in range(PROMPTS)]
    source = random.Random(3)
    with LLM(config) as llm, redis_server.client() as client:
        expected = [answer(llm, prompt, ANSWER).token_ids for prompt in prompts]
        settle(llm)
        for number, mutate in islice(enumerate(cycle(MUTATIONS)), size.pick(small=16, full=200)):
            prompt = prompts[number % PROMPTS]
            at = source.randrange(BLOCKS_EACH)
            name = redis_key(keys_of(llm, prompt)[at])
            value = client.get(name)
            assert isinstance(value, bytes)
            before = opened(value)
            client.set(name, mutate(source, value))
            again = answer(llm, prompt, ANSWER)
            assert again.token_ids == expected[number % PROMPTS], f"{mutate.__name__} of block {at}"
            assert again.usage.kv.reused["redis"] == at * BLOCK
            settle(llm)
            written = client.get(name)
            assert isinstance(written, bytes)
            is_equal = opened(written) == before
            assert is_equal, "the recomputed block differs from the original"
        stats = llm.engine.stats().tiers.store
        assert stats is not None
        assert stats.lower["redis"].rejected_blocks == number + 1
        assert_no_leaks(llm.engine)


def opened(value: bytes) -> bytes:
    """Return the payload of a sealed value. Each write seals it with another nonce."""
    header, sealed = value[:HEADER_BYTES], bytearray(value[HEADER_BYTES:] + bytes(TAG_BYTES))
    fingerprint = fingerprint_of(header)
    assert fingerprint is not None
    payload = bytearray(len(value) - HEADER_BYTES)
    assert BlockSeal(SECRET, fingerprint).open(header, memoryview(sealed), memoryview(payload)) is None
    return bytes(payload)


def keys_of(llm: LLM, prompt: list[int]) -> list[bytes]:
    """Return the keys of the full blocks of `prompt`."""
    request = llm.engine.processor.process(
        "keys", GenerateRequest(prompt_token_ids=prompt, params=GREEDY, tenant="local", urgency=NORMAL)
    )
    return list(request.block_keys)


def settle(llm: LLM) -> None:
    """Step the engine until all blocks are written to Redis."""

    def written() -> bool:
        llm.engine.step()
        stats = llm.engine.stats()
        return stats.blocks.unstored == 0 and stats.tiers.store is not None and stats.tiers.store.pending_writes == 0

    until(written)
