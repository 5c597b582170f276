"""Promises of KV in each API: what the engine is asked for, and what the answer says."""

import time
from pathlib import Path
from typing import Any

import pytest
from anthropic import AsyncAnthropic
from openai import AsyncOpenAI

from app.tenants.limits import TenantLimits
from engine.api.promise import PromiseRequest
from engine.testing.replay_engine import ReplayEngine
from tests.integration.api_server import RunningServer, running_server
from tests.integration.engine_rig import BLOCK, engine_config
from tests.integration.real_server import build_real_engine

pytestmark = pytest.mark.usefixtures("patient_loads")

Api = RunningServer[ReplayEngine]
RESERVED = 1 << 30
HOUR = 3600.0
TEXT = "The river rises in the hills, runs past the mill, and meets the sea at the harbour. " * 12
LONG: Any = {"type": "text", "text": TEXT, "cache_control": {"type": "ephemeral", "ttl": "1h"}}


async def reserve(server: RunningServer[Any]) -> None:
    await server.services.store.limits.set("local", TenantLimits(kv_reserved=RESERVED))
    await server.services.access.ring.read()


async def promises_of(api: Api, *, ask_anthropic: bool = True) -> list[PromiseRequest | None]:
    """Ask over each API with and without times. Return the engine's view of each request."""
    openai = AsyncOpenAI(base_url=f"{api.url}/v1", api_key="none", max_retries=0)
    anthropic = AsyncAnthropic(base_url=api.url, api_key="none", max_retries=0)
    hi: Any = [{"role": "user", "content": "hi"}]
    options: Any = {"prompt_cache_options": {"ttl": "12h"}}
    async with openai, anthropic:
        await openai.chat.completions.create(model="fake-1", messages=hi)
        await openai.chat.completions.create(model="fake-1", messages=hi, prompt_cache_key="k", extra_body=options)
        await openai.completions.create(model="fake-1", prompt="hi", extra_body=options)
        await openai.responses.create(model="fake-1", input="hi", prompt_cache_options={"ttl": "30m"})
        part = {"type": "text", "text": "Be brief."}
        for mark in ({"ttl": "5m"}, {}):
            block: Any = {**part, "cache_control": {"type": "ephemeral", **mark}}
            await anthropic.messages.create(model="fake-1", max_tokens=5, system=[block], messages=hi)
        breakpoint_: Any = {**part, "prompt_cache_breakpoint": {"mode": "explicit"}}
        marked: Any = [{"role": "system", "content": [breakpoint_]}, *hi]
        explicit: Any = {"prompt_cache_options": {"mode": "explicit", "ttl": "30m"}}
        await openai.chat.completions.create(model="fake-1", messages=marked, extra_body=explicit)
        await openai.chat.completions.create(model="fake-1", messages=hi, extra_body=explicit)
    return [request.promise for request in api.engine.requests]


async def test_times_of_each_api_become_promises(api: Api) -> None:
    await reserve(api)
    plain, chat, completion, response, short, unnamed, explicit, unmarked = await promises_of(api)
    sizes = [len(request.prompt) for request in api.engine.requests]
    assert plain is None
    assert chat == PromiseRequest(sizes[1], 12 * HOUR, RESERVED)
    assert completion == PromiseRequest(sizes[2], 12 * HOUR, RESERVED)
    assert response == PromiseRequest(sizes[3], HOUR / 2, RESERVED)
    assert short == unnamed
    assert short is not None
    assert short.seconds == 300.0
    assert 0 < short.num_tokens <= sizes[4]
    assert explicit is not None
    assert explicit.seconds == HOUR / 2
    assert 0 < explicit.num_tokens <= sizes[6]
    assert unmarked is None
    marked = [request.num_marked for request in api.engine.requests]
    assert marked[0] == marked[-1] == 0
    assert marked[1:4] == sizes[1:4], "what is promised is a mark, too"


async def test_without_a_reservation_only_stated_times_are_declined(api: Api) -> None:
    plain, chat, _, response, short, unnamed, *_ = await promises_of(api)
    assert (plain, unnamed) == (None, None)
    for stated in (chat, response, short):
        assert stated is not None
        assert stated.reserved_bytes == 0


async def test_unknown_time_is_refused_by_name(api: Api) -> None:
    body = {"model": "fake-1", "input": "hi", "prompt_cache_options": {"ttl": "9y"}}
    async with AsyncOpenAI(base_url=f"{api.url}/v1", api_key="none", max_retries=0) as openai:
        with pytest.raises(Exception, match=r"prompt_cache_options\.ttl"):
            await openai.post("/responses", body=body, cast_to=object)


async def test_answers_say_what_is_promised(shallow_model: Path, tmp_path: Path) -> None:
    engine = await build_real_engine(engine_config(shallow_model, tmp_path / "state", redis_url="off", disk=True))
    async with running_server(tmp_path, engine) as server:
        openai = AsyncOpenAI(base_url=f"{server.url}/v1", api_key="none", max_retries=0)
        anthropic = AsyncAnthropic(base_url=server.url, api_key="none", max_retries=0)
        asked: Any = {"model": "smollm2", "max_tokens": 2, "messages": [{"role": "user", "content": [LONG]}]}
        async with openai, anthropic:
            declined: Any = (await anthropic.messages.create(**asked)).usage.to_dict()
            await reserve(server)
            kept = (await anthropic.messages.create(**{**asked, "system": "Be brief."})).usage
            again = (await anthropic.messages.create(**{**asked, "system": "Be brief."})).usage
            async with anthropic.messages.stream(**{**asked, "system": "Be kind."}) as stream:
                streamed = (await stream.get_final_message()).usage
            response = await openai.responses.create(
                model="smollm2", input=TEXT, max_output_tokens=2, prompt_cache_options={"ttl": "30m"}
            )
    assert declined["cache_creation_input_tokens"] == 0
    refused = declined["kv"]["promise"]
    assert (refused["tokens"], refused["until"], refused["reason"]) == (0, None, "no_reservation")
    assert refused["declined"] > 3 * BLOCK
    tokens = _promised(kept)["tokens"]
    assert tokens > 3 * BLOCK
    assert kept.cache_creation is not None
    assert kept.cache_creation.ephemeral_1h_input_tokens == kept.cache_creation_input_tokens
    assert kept.cache_creation_input_tokens == tokens - (kept.cache_read_input_tokens or 0)
    assert abs(_promised(kept)["until"] - time.time() - HOUR) < 60
    assert _promised(again)["tokens"] == tokens, "what is read again stays promised"
    assert again.cache_creation_input_tokens == 0
    assert (streamed.cache_creation_input_tokens or 0) + (streamed.cache_read_input_tokens or 0) >= tokens
    assert response.usage is not None
    assert _promised(response.usage)["reason"] is None


def _promised(usage: Any) -> Any:
    return usage.to_dict()["kv"]["promise"]
