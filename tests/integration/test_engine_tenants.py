"""What a tenant leaves in any tier is nobody else's: on the real model with real LMCache and a real Redis."""

import asyncio
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from engine.build import build_engine
from engine.config import EngineConfig
from engine.llm import LLM
from engine.outputs import KVReceipt
from engine.sampling_params import SamplingParams
from tests.integration.engine_rig import BLOCK, engine_config
from tests.redis_server import RedisServer

TIERS = ("device", "cpu", "redis")
PROMPT = [500 + at for at in range(5 * BLOCK + 17)]


@pytest.fixture
def server(tmp_path: Path) -> Iterator[RedisServer]:
    """Of this test alone."""
    server = RedisServer(tmp_path)
    yield server
    server.kill()


@pytest.fixture
def config(model_path: Path, tmp_path: Path, server: RedisServer) -> EngineConfig:
    """With every tier."""
    config = engine_config(model_path, tmp_path / "state", redis_url=f"unix://{server.socket}")
    return replace(config, tenants_file=tmp_path / "state" / "tenants.json")


@pytest.fixture
def llm(config: EngineConfig) -> Iterator[LLM]:
    """One run of it."""
    with LLM(config) as llm:
        yield llm
        llm.engine.check()


def ask(llm: LLM, prompt: Sequence[int], tenant: str) -> KVReceipt:
    """One token; what the request left lies in every tier afterwards."""
    request = llm.engine.add_request(prompt, SamplingParams(temperature=0.0, max_tokens=1), tenant=tenant)
    while llm.engine.has_unfinished_requests():
        llm.engine.step()
    settle(llm)
    assert request.receipt is not None
    return request.receipt


def settle(llm: LLM) -> None:
    """Until nothing moves."""
    store = llm.tiers.store
    assert store is not None
    while llm.engine.core.next_poll_seconds() is not None or store.stats().redis_pending_writes:
        llm.engine.step()


def leave_only_in(llm: LLM, tier: str) -> None:
    """Nothing above it is left."""
    store = llm.tiers.store
    assert store is not None
    if tier != "device":
        llm.engine.core.scheduler.blocks.pool.forget_free()
    if tier == "redis":
        store.clear_cpu()


def redis_keys(server: RedisServer) -> set[bytes]:
    """Of all blocks."""
    with server.client() as client:
        return set(client.scan_iter(b"ebb:kv:*"))


@pytest.mark.parametrize("tier", TIERS)
def test_equal_prompts_of_two_tenants_share_nothing_wherever_the_blocks_lie(
    llm: LLM, server: RedisServer, tier: str
) -> None:
    ask(llm, PROMPT, "one")
    of_one = redis_keys(server)
    leave_only_in(llm, tier)
    assert ask(llm, PROMPT, "two") == KVReceipt(computed=len(PROMPT))
    of_two = redis_keys(server) - of_one
    assert len(of_one) == len(of_two) == 6
    leave_only_in(llm, tier)
    again = ask(llm, PROMPT, "one")
    assert (getattr(again, tier), again.computed) == (len(PROMPT) - 1, 1)


def test_equal_prompts_of_two_tenants_share_nothing_while_both_are_computed(llm: LLM) -> None:
    params = SamplingParams(temperature=0.0, max_tokens=1)
    prompt = [700 + at for at in range(10 * BLOCK + 17)]
    requests = [llm.engine.add_request(prompt, params, tenant=tenant) for tenant in ("one", "two", "one")]
    while llm.engine.has_unfinished_requests():
        llm.engine.step()
    receipts = [request.receipt for request in requests]
    assert receipts[:2] == [KVReceipt(computed=len(prompt))] * 2
    assert receipts[2] is not None
    assert receipts[2].device >= 10 * BLOCK


@pytest.mark.parametrize("tier", TIERS)
def test_what_a_deleted_tenant_left_is_found_by_nobody_wherever_it_lies(llm: LLM, tier: str) -> None:
    ask(llm, PROMPT, "one")
    ask(llm, PROMPT, "two")
    assert llm.engine.delete_tenant("one") == []
    leave_only_in(llm, tier)
    assert ask(llm, PROMPT, "one") == KVReceipt(computed=len(PROMPT))
    leave_only_in(llm, tier)
    assert getattr(ask(llm, PROMPT, "two"), tier) == len(PROMPT) - 1


def test_a_deleted_tenant_stays_deleted_after_a_restart(config: EngineConfig) -> None:
    with LLM(config) as llm:
        ask(llm, PROMPT, "one")
        ask(llm, PROMPT, "two")
        llm.engine.delete_tenant("one")
    with LLM(config) as llm:
        assert ask(llm, PROMPT, "one") == KVReceipt(computed=len(PROMPT))
        assert ask(llm, PROMPT, "two").redis == 5 * BLOCK


async def test_the_requests_of_a_deleted_tenant_end_and_leave_nothing_behind(config: EngineConfig) -> None:
    engine = await asyncio.to_thread(build_engine, config, print)
    await engine.start()
    long = SamplingParams(temperature=0.0, max_tokens=1000, ignore_eos=True)
    short = SamplingParams(temperature=0.0, max_tokens=8, ignore_eos=True)
    try:
        ours, others = engine.generate(PROMPT, long, tenant="one"), engine.generate(PROMPT, short, tenant="two")
        assert (await anext(ours)).token_ids
        await engine.delete_tenant("one")
        async with asyncio.timeout(20):
            assert [output async for output in ours][-1].finish_reason == "abort"
            assert [output async for output in others][-1].finish_reason == "length"
            again = [output async for output in engine.generate(PROMPT, short, tenant="one")][-1]
        assert again.usage is not None
        assert again.usage.kv == KVReceipt(computed=len(PROMPT))
    finally:
        await engine.stop(0.0)
