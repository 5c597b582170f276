"""Reports of why a prefix was not reused: each cause is provoked on the real model and tiers and read over HTTP."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from bench.slow_link import FAST, SlowLink
from cache_tiers.layout.layout import LAYOUT_VERSION
from cache_tiers.redis.keys import KEY_PREFIX
from engine.loop.async_llm import AsyncLLMEngine
from engine.offload.prefill_cost import PrefillCost
from tests.integration.engine_rig import BLOCK, engine_config
from tests.integration.real_server import cpu_cleared, serving, settled
from tests.integration.sse_events import all_events
from tests.redis_server import RedisServer

pytest_plugins = ["tests.store_fixtures"]
pytestmark = pytest.mark.usefixtures("patient_loads")

STORY = "The river rises in the hills, runs past the mill and the old bridge, and meets the sea at the harbour. " * 12
QUESTION = f"{STORY} Now tell me about boats, briefly."
EDITED = f"{STORY} Now tell me about trains, briefly."


async def converse(http: aiohttp.ClientSession, **fields: Any) -> str:
    """Create a conversation with short answers and return its id."""
    made = await http.post("/api/conversations", json={"params": {"max_tokens": 4, "temperature": 0}, **fields})
    conversation_id = (await made.json())["id"]
    assert isinstance(conversation_id, str)
    return conversation_id


async def say(http: aiohttp.ClientSession, conversation_id: str, content: str, **fields: Any) -> dict[str, Any]:
    """Send a message and return the answer."""
    path = f"/api/conversations/{conversation_id}/messages"
    return await answered(await http.post(path, json={"content": content, **fields}))


async def retry(http: aiohttp.ClientSession, message: dict[str, Any]) -> dict[str, Any]:
    """Generate another answer to the same question."""
    return await answered(await http.post(f"/api/messages/{message['id']}/retry", json={}))


async def answered(response: aiohttp.ClientResponse) -> dict[str, Any]:
    last = (await all_events(response))[-1]
    assert last.kind == "done", last.data
    message: dict[str, Any] = last.data["message"]
    return message


async def why(http: aiohttp.ClientSession, message: dict[str, Any]) -> dict[str, Any]:
    """Return the reuse report of an answer's run, which must agree with the receipt."""
    response = await http.get(f"/api/runs/{message['run_id']}/kv")
    assert response.status == 200, await response.text()
    report: dict[str, Any] = await response.json()
    kv = message["usage"]["kv"]
    assert report["receipt"] == {name: value for name, value in kv.items() if name != "reuse"}
    assert report["reused_until"] <= kv["device"] + kv["cpu"] + kv["redis"]
    return report


async def lose_memory(engine: AsyncLLMEngine) -> None:
    """Evict every block from the device and from CPU memory."""
    await settled(engine)
    await cpu_cleared(engine)


async def test_new_prompt_is_reported_as_never_seen(shallow_model: Path, tmp_path: Path) -> None:
    config = engine_config(shallow_model, tmp_path / "state", redis_url="off")
    async with serving(config, tmp_path) as (http, _):
        conversation = await converse(http)
        first = await why(http, await say(http, conversation, QUESTION))
        assert (first["cause"], first["reused_until"], first["reusable_tokens"]) == ("never_seen", 0, 0)
        assert first["diverges"] is None
        second = await why(http, await say(http, conversation, "And then?"))
        assert second["cause"] == "never_seen"
        assert second["reused_until"] == second["reusable_tokens"] > first["prompt_tokens"]
        assert (await http.get("/api/runs/run_nobody/kv")).status == 404


async def test_edited_question_diverges_at_the_changed_token(shallow_model: Path, tmp_path: Path) -> None:
    config = engine_config(shallow_model, tmp_path / "state", redis_url="off")
    async with serving(config, tmp_path) as (http, _):
        conversation = await converse(http)
        before = await say(http, conversation, "Good morning!")
        await say(http, conversation, QUESTION)
        edited = await say(http, conversation, EDITED, parent_id=before["id"])
        report = await why(http, edited)
    assert report["cause"] == "never_seen"
    parting = report["diverges"]
    assert (parting["this"]["text"], parting["other"]["text"]) == (" trains", " boats")
    assert parting["before"].endswith(" Now tell me about")
    assert parting["this"]["following"].startswith(", briefly.<|im_end|>")
    assert parting["other"]["following"].startswith(", briefly.<|im_end|>")
    assert parting["at"] == report["reusable_tokens"] == report["reused_until"]


async def test_divergence_from_another_chat_is_not_stored(shallow_model: Path, tmp_path: Path) -> None:
    config = engine_config(shallow_model, tmp_path / "state", redis_url="off")
    async with serving(config, tmp_path) as (http, _):
        await say(http, await converse(http), QUESTION)
        other = await say(http, await converse(http), EDITED)
        report = await why(http, other)
        assert report["diverges"]["other"]["text"] == " boats"
    async with serving(config, tmp_path) as (http, _):
        later = await why(http, other)
    assert later["diverges"] == {**report["diverges"], "other": None}
    assert {**later, "diverges": None} == {**report, "diverges": None}


async def test_changed_system_prompt_is_the_reported_cause(shallow_model: Path, tmp_path: Path) -> None:
    config = engine_config(shallow_model, tmp_path / "state", redis_url="off")
    async with serving(config, tmp_path) as (http, _):
        conversation = await converse(http, system_prompt="You are a kind sailor.")
        await say(http, conversation, QUESTION)
        await http.patch(f"/api/conversations/{conversation}", json={"system_prompt": "You are a kind miller."})
        changed = await why(http, await say(http, conversation, "And then?"))
        assert changed["cause"] == "template_changed"
        assert changed["diverges"]["before"].endswith("You are a kind")
        assert changed["diverges"]["this"]["text"] != changed["diverges"]["other"]["text"]
        after = await why(http, await say(http, conversation, "Go on."))
        assert after["cause"] == "never_seen", "the previous turn had the same system prompt"


async def test_messages_left_out_are_the_reported_cause(shallow_model: Path, tmp_path: Path) -> None:
    config = engine_config(shallow_model, tmp_path / "state", redis_url="off")
    async with serving(config, tmp_path) as (http, _):
        conversation = await converse(http)
        await say(http, conversation, QUESTION)
        cut = await say(http, conversation, EDITED, left_out=2)
        report = await why(http, cut)
        # The new first question begins like the one that is left out.
        assert report["cause"] == "messages_left_out"
        assert report["diverges"]["this"]["text"] == " trains"
        after = await say(http, conversation, "Go on.")
        assert (await why(http, after))["cause"] == "never_seen"
        assert after["usage"]["kv"]["device"] > cut["usage"]["prompt_tokens"] - 2 * BLOCK


async def test_blocks_gone_from_device_and_cpu_are_evicted_from_both(shallow_model: Path, tmp_path: Path) -> None:
    config = engine_config(shallow_model, tmp_path / "state", redis_url="off")
    async with serving(config, tmp_path) as (http, engine):
        answer = await say(http, await converse(http), QUESTION)
        await lose_memory(engine)
        report = await why(http, await retry(http, answer))
        assert (report["cause"], report["gone_from"]) == ("evicted", ["device", "cpu"])
        assert (report["reused_until"], report["reusable_tokens"]) == (0, report["prompt_tokens"] - 1)
        again = await why(http, await retry(http, answer))
        assert again["cause"] == "complete"


async def test_blocks_without_tiers_are_evicted_from_the_device(shallow_model: Path, tmp_path: Path) -> None:
    config = engine_config(shallow_model, tmp_path / "state", redis_url="off", cpu_memory=0)
    async with serving(config, tmp_path) as (http, engine):
        answer = await say(http, await converse(http), QUESTION)
        engine._engine.core.scheduler.blocks.pool.forget_free()
        report = await why(http, await retry(http, answer))
    assert (report["cause"], report["gone_from"]) == ("evicted", ["device"])


async def test_disabled_prefix_cache_is_the_reported_cause(shallow_model: Path, tmp_path: Path) -> None:
    config = engine_config(shallow_model, tmp_path / "state", prefix_cache=False)
    async with serving(config, tmp_path) as (http, _):
        report = await why(http, await say(http, await converse(http), QUESTION))
    assert (report["cause"], report["receipt"]["computed"]) == ("off", report["prompt_tokens"])


async def test_blocks_lost_by_redis_are_evicted_also_after_a_restart(
    shallow_model: Path, tmp_path: Path, redis_server: RedisServer
) -> None:
    config = engine_config(shallow_model, tmp_path / "state", redis_url=f"unix://{redis_server.socket}")
    async with serving(config, tmp_path) as (http, engine):
        answer = await say(http, await converse(http), QUESTION)
        await lose_memory(engine)
        with redis_server.client() as client:
            client.flushall()
        again = await retry(http, answer)
        report = await why(http, again)
        assert (report["cause"], report["gone_from"]) == ("evicted", ["device", "cpu", "redis"])
        assert "no longer in Redis" in report["explanation"]
        await settled(engine)
    with redis_server.client() as client:
        client.flushall()
    async with serving(config, tmp_path) as (http, _):
        assert await why(http, again) == report
        # The new engine has no record of the prefix, but the stored conversation does.
        later = await why(http, await retry(http, answer))
    assert later["cause"] == "evicted"
    assert later["reusable_tokens"] == later["prompt_tokens"] - 1
    assert "redis" in later["gone_from"]


async def test_blocks_of_another_version_are_not_called_evicted(
    shallow_model: Path, tmp_path: Path, redis_server: RedisServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = engine_config(shallow_model, tmp_path / "state", redis_url=f"unix://{redis_server.socket}")
    async with serving(config, tmp_path) as (http, engine):
        answer = await say(http, await converse(http), QUESTION)
        fingerprint = engine.kv_fingerprint[:8]
        await settled(engine)
    monkeypatch.setattr("engine.wiring.build.LAYOUT_VERSION", LAYOUT_VERSION + 1)
    async with serving(config, tmp_path) as (http, engine):
        first = await why(http, await retry(http, answer))
        assert (first["cause"], first["reused_until"]) == ("computed_otherwise", 0)
        assert fingerprint in first["explanation"]
        assert answer["usage"]["kv"]["reuse"]["kv"] == fingerprint != engine.kv_fingerprint[:8]
        assert (await why(http, await retry(http, answer)))["cause"] == "complete"


async def test_damaged_value_is_reported_as_rejected(
    shallow_model: Path, tmp_path: Path, redis_server: RedisServer
) -> None:
    config = engine_config(shallow_model, tmp_path / "state", redis_url=f"unix://{redis_server.socket}")
    async with serving(config, tmp_path) as (http, engine):
        answer = await say(http, await converse(http), QUESTION)
        await lose_memory(engine)
        with redis_server.client() as client:
            for name in client.scan_iter(KEY_PREFIX + b"*"):
                client.setrange(name, 5000, b"poison")
        report = await why(http, await retry(http, answer))
    assert report["cause"] == "rejected"
    assert "damaged, or written with another secret" in report["explanation"]
    assert report["receipt"]["blocks_verified"] == 0


async def test_dead_redis_is_reported_as_an_open_breaker(
    shallow_model: Path, tmp_path: Path, redis_server: RedisServer
) -> None:
    config = engine_config(shallow_model, tmp_path / "state", redis_url=f"unix://{redis_server.socket}")
    async with serving(config, tmp_path) as (http, engine):
        answer = await say(http, await converse(http), QUESTION)
        redis_server.kill()
        for _ in range(2):
            await lose_memory(engine)
            report = await why(http, await retry(http, answer))
            assert report["cause"] == "breaker_open"
            assert "Redis" in report["explanation"]
        redis_server.start()


@pytest.fixture
def link(redis_server: RedisServer, tmp_path: Path) -> Iterator[SlowLink]:
    """Link to the server at the socket `tmp_path / "link"`."""
    with SlowLink(tmp_path / "link", redis_server.socket) as link:
        yield link


async def test_slow_redis_is_reported_as_not_worth_loading(
    shallow_model: Path, tmp_path: Path, link: SlowLink, monkeypatch: pytest.MonkeyPatch
) -> None:
    link.set(0.0, FAST)
    config = engine_config(shallow_model, tmp_path / "state", redis_url=f"unix://{tmp_path / 'link'}")
    async with serving(config, tmp_path) as (http, engine):
        answer = await say(http, await converse(http), QUESTION)
        await lose_memory(engine)
        await retry(http, answer)
        await lose_memory(engine)
        monkeypatch.setattr(PrefillCost, "seconds", lambda _cost, start, stop: 1e-4 * (stop - start))
        link.set(0.0, 1e6)
        report = await why(http, await retry(http, answer))
        link.set(0.0, FAST)
    assert report["cause"] == "not_worth_loading"
    assert report["reused_until"] < report["prompt_tokens"] - BLOCK
