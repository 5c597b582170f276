"""GET /api/live: samples of the whole server, streamed while the key is valid."""

import asyncio
from pathlib import Path
from typing import Any

import aiohttp
from prometheus_client.parser import text_string_to_metric_families

from engine.testing.replay_engine import ReplayEngine
from tests.integration.api_server import RunningServer
from tests.integration.sse_events import all_events, events
from tests.integration.tenants import serving_people


async def metrics_of(http: aiohttp.ClientSession) -> dict[tuple[str, str], Any]:
    """Return the values of GET /metrics by name and value of the first label, which is "" without labels."""
    text = await (await http.get("/metrics")).text()
    return {
        (sample.name, next(iter(sample.labels.values()), "")): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


async def test_sample_agrees_with_metrics_and_health(
    http: aiohttp.ClientSession, api: RunningServer[ReplayEngine]
) -> None:
    api.engine.hold()
    await http.post("/v1/completions", json={"model": "fake-1", "prompt": "x", "stream": True})
    response = await http.get("/api/live")
    assert response.headers["Content-Type"].startswith("text/event-stream")
    async with asyncio.timeout(20):
        sample = await anext(events(response))
    assert sample.kind == "sample"
    counted, health = await metrics_of(http), await (await http.get("/health")).json()
    assert sample.data["requests"] == {
        state: counted["ebb_requests", state] for state in ("running", "waiting", "preempted", "loading", "following")
    }
    assert sample.data["requests"]["running"] == 1
    device = sample.data["tiers"]["device"]
    assert device["used_bytes"] == counted["ebb_tier_used_bytes", "device"]
    assert {name: device[name] for name in health["tiers"]["device"]} == health["tiers"]["device"]
    assert sample.data["tiers"]["redis"] == {"state": "off"}


async def test_head_request_ends_without_following(
    http: aiohttp.ClientSession, api: RunningServer[ReplayEngine]
) -> None:
    async with asyncio.timeout(20):
        response = await http.head("/api/live")
        assert response.headers["Content-Type"].startswith("text/event-stream")
        # A stream would have begun by the end of another request.
        assert (await http.get("/health")).status == 200
    assert not api.services.live.is_sampling


async def test_stream_ends_on_key_revocation_and_on_server_stop(tmp_path: Path) -> None:
    async with serving_people(tmp_path) as people, asyncio.timeout(20):
        administration = people.server.services.access.administration
        made, key = await administration.create_key("ops", "ops", "admin")
        ops = {"Authorization": f"Bearer {key}"}
        watched = await people.stranger.get("/api/live", headers=ops)
        other = await people.root.get("/api/live")
        first = await anext(events(watched))
        await administration.revoke_key(made.id)
        assert await all_events(watched) == []
        assert (await people.stranger.get("/api/live", headers={**ops, "Last-Event-ID": str(first.id)})).status == 401
        people.server.services.live.stop()
        assert [event.kind for event in await all_events(other)][-1] == "server_restart"
