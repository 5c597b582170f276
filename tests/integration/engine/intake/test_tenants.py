"""Isolation of tenants' KV in every tier, on the real model with real LMCache and Redis."""

import asyncio
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from engine.api.errors import EngineError
from engine.api.generate_request import GenerateRequest
from engine.api.outputs import KVReceipt
from engine.api.sampling_params import SamplingParams
from engine.api.stored_tokens import Trail
from engine.config import EngineConfig
from engine.kv.block import common_prefix_len
from engine.llm import LLM
from engine.wiring.build import build_engine
from models.chat.format import ChatFormat, Message
from tests.integration.engine_rig import BLOCK, engine_config
from tests.leaks import assert_no_leaks
from tests.redis_server import RedisServer
from tests.waiting import until

pytest_plugins = ["tests.store_fixtures"]
pytestmark = pytest.mark.usefixtures("patient_loads")

TIERS = ("device", "cpu", "redis")
PROMPT = [500 + at for at in range(5 * BLOCK + 17)]


@pytest.fixture
def config(shallow_model: Path, tmp_path: Path, redis_server: RedisServer) -> EngineConfig:
    """Engine configuration with every tier."""
    config = engine_config(shallow_model, tmp_path / "state", redis_url=f"unix://{redis_server.socket}")
    return config.with_fields(tenants_file=tmp_path / "state" / "tenants.json")


@pytest.fixture
def llm(config: EngineConfig) -> Iterator[LLM]:
    """Engine with every tier, which checks itself at the end."""
    with LLM(config) as llm:
        yield llm
        assert_no_leaks(llm.engine)


def ask(llm: LLM, prompt: Sequence[int], tenant: str) -> KVReceipt:
    """Generate one token, wait until the blocks are stored in every tier, and return the receipt."""
    request = llm.engine.add_request(
        GenerateRequest(prompt_token_ids=prompt, params=SamplingParams(temperature=0.0, max_tokens=1), tenant=tenant)
    )
    while llm.engine.has_unfinished_requests():
        llm.engine.step()
    settle(llm)
    assert request.receipt is not None
    return request.receipt


def settle(llm: LLM) -> None:
    """Step until no copy between tiers is pending."""
    store = llm.tiers.store
    assert store is not None
    while llm.engine.core.next_poll_seconds() is not None or store.stats().pending_writes:
        llm.engine.step()


def leave_only_in(llm: LLM, tier: str) -> None:
    """Evict all blocks from the tiers above `tier`."""
    store = llm.tiers.store
    assert store is not None
    if tier != "device":
        llm.engine.core.scheduler.blocks.pool.forget_free()
    if tier == "redis":
        until(store.clear_cpu)


def redis_keys(redis_server: RedisServer) -> set[bytes]:
    """Read the keys of all blocks."""
    with redis_server.client() as client:
        return set(client.scan_iter(b"ebb:kv:*"))


@pytest.mark.parametrize("tier", TIERS)
def test_equal_prompts_of_two_tenants_share_no_blocks_in_a_tier(llm: LLM, redis_server: RedisServer, tier: str) -> None:
    ask(llm, PROMPT, "one")
    of_one = redis_keys(redis_server)
    leave_only_in(llm, tier)
    assert ask(llm, PROMPT, "two").cached == 0
    of_two = redis_keys(redis_server) - of_one
    assert len(of_one) == len(of_two) == 6
    leave_only_in(llm, tier)
    again = ask(llm, PROMPT, "one")
    assert (again.reused[tier], again.computed) == (len(PROMPT) - 1, 1)


def test_equal_prompts_of_two_tenants_in_a_batch_share_no_blocks(llm: LLM) -> None:
    params = SamplingParams(temperature=0.0, max_tokens=1)
    prompt = [700 + at for at in range(10 * BLOCK + 17)]
    requests = [
        llm.engine.add_request(GenerateRequest(prompt_token_ids=prompt, params=params, tenant=tenant))
        for tenant in ("one", "two", "one")
    ]
    while llm.engine.has_unfinished_requests():
        llm.engine.step()
    receipts = [request.receipt for request in requests]
    assert [receipt.cached for receipt in receipts[:2] if receipt is not None] == [0, 0]
    assert receipts[2] is not None
    assert receipts[2].reused["device"] >= 10 * BLOCK


@pytest.mark.parametrize("tier", TIERS)
def test_deleted_tenants_blocks_are_not_found_in_any_tier(llm: LLM, tier: str) -> None:
    ask(llm, PROMPT, "one")
    ask(llm, PROMPT, "two")
    llm.engine.processor.salts.rotate("one")
    leave_only_in(llm, tier)
    assert ask(llm, PROMPT, "one").cached == 0
    leave_only_in(llm, tier)
    assert ask(llm, PROMPT, "two").reused[tier] == len(PROMPT) - 1


def test_deleted_tenant_stays_deleted_after_a_restart(config: EngineConfig) -> None:
    with LLM(config) as llm:
        ask(llm, PROMPT, "one")
        ask(llm, PROMPT, "two")
        llm.engine.processor.salts.rotate("one")
    with LLM(config) as llm:
        # The order matters: until the cost of computing is known, a request waits for any blocks that Redis may hold.
        assert ask(llm, PROMPT, "two").reused["redis"] == 5 * BLOCK
        assert ask(llm, PROMPT, "one").cached == 0


async def test_deleting_a_tenant_aborts_only_its_requests(config: EngineConfig) -> None:
    engine = await asyncio.to_thread(build_engine, config, print)
    await engine.start()
    long = SamplingParams(temperature=0.0, max_tokens=1000, ignore_eos=True)
    short = SamplingParams(temperature=0.0, max_tokens=8, ignore_eos=True)
    try:
        [ours] = await engine.generate(GenerateRequest(prompt_token_ids=PROMPT, params=long, tenant="one"))
        [others] = await engine.generate(GenerateRequest(prompt_token_ids=PROMPT, params=short, tenant="two"))
        assert (await anext(ours)).token_ids
        await engine.delete_tenant("one")
        async with asyncio.timeout(20):
            assert [output async for output in ours][-1].finish_reason == "abort"
            assert [output async for output in others][-1].finish_reason == "length"
            [stream] = await engine.generate(GenerateRequest(prompt_token_ids=PROMPT, params=short, tenant="one"))
            again = [output async for output in stream][-1]
        assert again.usage is not None
        assert again.usage.kv.cached == 0
    finally:
        await engine.stop(0.0)


PUBLIC = "You are a guide in a museum of clocks, and answer in the language of the question. " * 12


def with_system(llm: LLM, config: EngineConfig, system: str, question: str) -> list[int]:
    """Render a system prompt and a question with the chat template."""
    messages = [Message("system", system), Message("user", question)]
    return ChatFormat.load(config.model.path, llm.tokenizer).render(messages)


@pytest.mark.parametrize("tier", TIERS)
def test_tenants_share_only_the_blocks_of_a_public_prefix(
    config: EngineConfig, redis_server: RedisServer, tier: str
) -> None:
    question = "Which of them is the oldest, and who made it? " * 12
    with LLM(config.with_fields(public_prompt=PUBLIC)) as llm:
        prompt = with_system(llm, config, PUBLIC, question)
        public = common_prefix_len(prompt, with_system(llm, config, PUBLIC, "?")) // BLOCK
        assert 0 < public < len(prompt) // BLOCK - 1
        ask(llm, prompt, "one")
        of_one = redis_keys(redis_server)
        leave_only_in(llm, tier)
        receipt = ask(llm, prompt, "two")
        assert (receipt.reused[tier], receipt.computed) == (public * BLOCK, len(prompt) - public * BLOCK)
        of_two = redis_keys(redis_server) - of_one
        assert len(of_two) == len(of_one) - public
        assert ask(llm, prompt, "two").reused["device"] == len(prompt) - 1


def test_prompt_that_diverges_in_the_public_prefix_is_not_shared(config: EngineConfig) -> None:
    with LLM(config.with_fields(public_prompt=PUBLIC)) as llm:
        prompt = with_system(llm, config, PUBLIC[: len(PUBLIC) * 2 // 3] + "Be brief.", "Which one is the oldest?")
        assert len(prompt) > 2 * BLOCK
        ask(llm, with_system(llm, config, PUBLIC, "Which one is the oldest?"), "one")
        ask(llm, prompt, "one")
        assert ask(llm, prompt, "two").cached == 0


def test_public_prefix_outlives_a_deleted_tenant(config: EngineConfig) -> None:
    with LLM(config.with_fields(public_prompt=PUBLIC)) as llm:
        prompt = with_system(llm, config, PUBLIC, "Which one is the oldest?")
        ask(llm, prompt, "one")
        llm.engine.processor.salts.rotate("one")
        llm.engine.core.erase(llm.engine.processor.keys.of_trails([Trail(prompt)], "one"))
        assert ask(llm, prompt, "two").reused["device"] >= BLOCK
        assert BLOCK <= ask(llm, prompt, "one").reused["device"] < len(prompt) - 1


def test_public_prefix_shorter_than_a_block_is_refused(config: EngineConfig) -> None:
    with pytest.raises(EngineError, match=r"--public-prefix: \d+ tokens do not fill one block of 64"):
        LLM(config.with_fields(public_prompt="Be kind."))
