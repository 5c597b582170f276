"""Isolation and deletion of a tenant's KV, on the real engine behind the real server."""

import asyncio
from pathlib import Path

from engine.wiring.build import build_engine
from tests.integration.api_server import api_client, running_server
from tests.integration.engine_rig import engine_config

QUESTION = {"model": "smollm2", "max_tokens": 2, "prompt": "Tell me about rivers and the sea, please. " * 8}


async def test_prompt_is_cached_for_its_tenant_until_deletion(shallow_model: Path, tmp_path: Path) -> None:
    config = engine_config(shallow_model, tmp_path / "state", redis_url="off")
    engine = await asyncio.to_thread(build_engine, config, lambda _: None)
    async with running_server(tmp_path, engine) as server:

        async def cached(tenant: str) -> int:
            """Ask the question with a new key of the tenant, and return the number of cached tokens."""
            _, key = await server.services.access.administration.create_key("key", tenant, "admin")
            async with api_client(server.url, key) as http:
                answer = await (await http.post("/v1/completions", json=QUESTION)).json()
                tokens: int = answer["usage"]["prompt_tokens_details"]["cached_tokens"]
                return tokens

        assert (await cached("alice"), await cached("bob")) == (0, 0)
        assert await cached("alice") >= 64
        _, key = await server.services.access.administration.create_key("key", "bob", "admin")
        async with api_client(server.url, key) as http:
            assert (await http.delete("/api/admin/tenants/alice")).status == 200
        assert await cached("alice") == 0
        assert await cached("bob") >= 64
