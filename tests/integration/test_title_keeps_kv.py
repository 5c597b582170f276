"""A title by the model uses the conversation's KV and changes nothing of it: the real engine behind the real server."""

import asyncio
from pathlib import Path

from app.title_maker import TitleMaker
from engine.build import build_engine
from tests.integration.api_server import api_client, running_server
from tests.integration.conversations_client import created, said, shown
from tests.integration.engine_rig import engine_config
from tests.integration.real_server import settled

CALM = {"temperature": 0, "max_tokens": 40}


async def test_the_next_turn_finds_what_it_would_have_found_without_a_title(model_path: Path, tmp_path: Path) -> None:
    config = engine_config(model_path, tmp_path / "state", redis_url="off")
    engine = await asyncio.to_thread(build_engine, config, print)
    async with running_server(tmp_path, engine) as server, api_client(server.url) as http:
        services = server.services
        titles = TitleMaker(services.host, services.store, services.turns, poll_seconds=0.001)
        conversation = await created(http, params=CALM)
        first = await said(http, conversation, "What is a tide, and what has the moon to do with it?")
        await settled(engine)
        before = engine.stats()
        run = services.runs.get(first["run_id"], "local")
        assert run is not None
        titles.after(run)
        await titles.settled()
        await settled(engine)
        after = engine.stats()
        assert after.device_tokens - before.device_tokens == first["usage"]["total_tokens"] - 1
        assert (after.blocks_cached, after.blocks_used) == (before.blocks_cached, before.blocks_used)
        assert after.tiers is not None
        assert before.tiers is not None
        assert after.tiers.cpu_used_bytes == before.tiers.cpu_used_bytes
        assert (await shown(http, conversation))["title_source"] in ("model", "first_message")
        second = await said(http, conversation, "And at night?")
        assert second["usage"]["kv"]["device"] == first["usage"]["total_tokens"] - 1
