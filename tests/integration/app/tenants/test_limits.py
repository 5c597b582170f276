"""Tenant limits: each refusal names the limit and carries Retry-After."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families

from app.access.rate_limit_sync import RateLimitSync
from app.serving.texts import AT_ONCE
from app.storage.limits import RETRY_SECONDS
from app.tenants.token_bucket import OwedUse
from engine.testing.replay_engine import ReplayEngine
from engine.testing.script import ANSWER_WORDS
from tests.integration.api_server import api_client, running_server
from tests.integration.conversations_client import created, read, said
from tests.integration.tenants import People, serving_people

COMPLETION = {"model": "fake-1", "prompt": "0123456789", "max_tokens": 5}


@pytest.fixture
async def people(tmp_path: Path) -> AsyncIterator[People]:
    async with serving_people(tmp_path) as found:
        yield found


async def limit(people: People, **limits: int) -> None:
    """Set Alice's limits."""
    response = await people.root.put("/api/admin/tenants/alice/limits", json=limits)
    assert response.status == 200


async def refusal(people: People, path: str, body: Any) -> tuple[str, int]:
    """Send Alice's request, which must be refused with 429. Return the error code and Retry-After in seconds."""
    response = await people.alice.post(path, json=body)
    error = (await response.json())["error"]
    assert (response.status, error["type"]) == (429, "rate_limit_error"), error
    return error["code"], int(response.headers["Retry-After"])


async def test_requests_per_minute_count_answers_over_every_api(people: People) -> None:
    await limit(people, requests_per_minute=3)
    await said(people.alice, await created(people.alice), "hello")
    for path in ("/v1/completions", "/v1/responses"):
        body = COMPLETION if path == "/v1/completions" else {"model": "fake-1", "input": "hi"}
        assert (await people.alice.post(path, json=body)).status == 200
    conversation = await created(people.alice)
    for path, body in (
        ("/v1/completions", COMPLETION),
        ("/v1/responses", {"model": "fake-1", "input": "hi"}),
        (f"/api/conversations/{conversation}/messages", {"content": "hi"}),
    ):
        code, seconds = await refusal(people, path, body)
        assert code == "requests_per_minute_limit"
        assert 18 <= seconds <= 20
        assert (await people.bob.post("/v1/completions", json=COMPLETION)).status == 200
    assert (await read(people.alice, f"/api/conversations/{conversation}"))["messages"] == []
    families = {
        each.name: each for each in text_string_to_metric_families(await (await people.root.get("/metrics")).text())
    }
    counted = {s.labels["limit"]: s.value for s in families["ebb_limits_reached"].samples if s.name.endswith("_total")}
    assert counted == {"requests_per_minute": 3}


async def test_new_limit_ignores_earlier_use(people: People) -> None:
    for _ in range(21):
        assert (await people.alice.post("/v1/completions", json=COMPLETION)).status == 200
    await limit(people, requests_per_minute=3, tokens_per_minute=100)
    assert (await people.alice.post("/v1/completions", json=COMPLETION)).status == 200


async def test_limits_survive_a_restart(tmp_path: Path) -> None:
    async with serving_people(tmp_path) as first:
        await limit(first, requests_per_minute=3, tokens_per_minute=1000)
        key = first.keys["alice"]
        for _ in range(3):
            assert (await first.alice.post("/v1/completions", json=COMPLETION)).status == 200
    async with running_server(tmp_path, ReplayEngine()) as again, api_client(again.url, key) as alice:
        response = await alice.post("/v1/completions", json=COMPLETION)
        assert (response.status, (await response.json())["error"]["code"]) == (429, "requests_per_minute_limit")
        assert 15 <= int(response.headers["Retry-After"]) <= 20
        assert (await again.services.store.owed_use.all())["alice"].tokens.seconds > 0


async def test_use_is_stored_while_the_server_runs(people: People, tmp_path: Path) -> None:
    """Store the use while running, so that a crash loses little, and write nothing if nothing has been used."""
    services = people.server.services
    await limit(people, requests_per_minute=3)
    assert (await people.alice.post("/v1/completions", json=COMPLETION)).status == 200
    writes = 0
    add = services.store.owed_use.add

    async def counted(added: Mapping[str, OwedUse]) -> dict[str, OwedUse]:
        nonlocal writes
        writes += 1
        return await add(added)

    keeper = RateLimitSync(services.access.gates, SimpleNamespace(add=counted))  # type: ignore[arg-type]
    await keeper.save()
    await keeper.save()
    stored = await services.store.owed_use.all()
    assert (writes, list(stored)) == (1, ["alice"])
    assert 15 < stored["alice"].requests.seconds <= 20


async def test_limit_error_has_anthropics_shape_on_its_routes(people: People) -> None:
    await limit(people, requests_per_minute=0)
    body = {"model": "fake-1", "max_tokens": 9, "messages": [{"role": "user", "content": "hi"}]}
    response = await people.alice.post("/v1/messages", json=body)
    assert (response.status, response.headers["Retry-After"]) == (429, "60")
    error = (await response.json())["error"]
    assert error["type"] == "rate_limit_error"
    assert "0 requests per minute" in error["message"]


async def test_tokens_per_minute_count_prompts_and_answers(people: People) -> None:
    await limit(people, tokens_per_minute=30)
    assert (await people.alice.post("/v1/completions", json=COMPLETION)).status == 200
    streamed = await people.alice.post("/v1/completions", json={**COMPLETION, "stream": True})
    await streamed.read()
    code, seconds = await refusal(people, "/v1/completions", COMPLETION)
    assert code == "tokens_per_minute_limit"
    # 30 tokens are used, the next prompt takes 10, and a minute refills 30.
    assert 18 <= seconds <= 20
    used = {each["tenant"]: each for each in (await read(people.root, "/api/admin/tenants"))["data"]}["alice"]
    assert (used["requests"], used["tokens"], used["live"]) == (2, 30, 0)


async def test_several_answers_count_each_but_their_prompt_once(people: People) -> None:
    await limit(people, tokens_per_minute=1000, requests_per_minute=4, concurrent_runs=3)
    response = await people.alice.post("/v1/completions", json={**COMPLETION, "n": 3})
    assert response.status == 200
    used = {each["tenant"]: each for each in (await read(people.root, "/api/admin/tenants"))["data"]}["alice"]
    assert (used["requests"], used["tokens"], used["live"]) == (3, 10 + 3 * 5, 0)
    code, _ = await refusal(people, "/v1/completions", {**COMPLETION, "n": 2})
    assert code == "requests_per_minute_limit"
    for field in ("n", "best_of"):
        response = await people.alice.post("/v1/completions", json={**COMPLETION, field: 4})
        error = (await response.json())["error"]
        assert (response.status, error["param"]) == (400, field)


async def test_concurrent_runs_count_until_they_end_in_any_way(people: People) -> None:
    await limit(people, concurrent_runs=2)
    people.engine.hold()
    path = f"/api/conversations/{await created(people.alice)}/messages"
    run = await people.alice.post(path, json={"content": "one"})
    stream = await people.alice.post("/v1/completions", json={**COMPLETION, "stream": True})
    await people.engine.until_running(2)
    assert await refusal(people, "/v1/completions", COMPLETION) == ("concurrent_runs_limit", 2)
    stream.close()
    await people.engine.until_running(1)
    third = await people.alice.post("/v1/completions", json={**COMPLETION, "stream": True})
    assert third.status == 200
    assert (await refusal(people, "/v1/completions", COMPLETION))[0] == "concurrent_runs_limit"
    assert (await people.alice.post(f"/api/runs/{run.headers['X-Run-Id']}/cancel")).status == 200
    assert (await people.alice.post("/v1/completions", json={**COMPLETION, "stream": True})).status == 200
    people.engine.allow(None)


async def test_embedded_texts_count_as_one_request_and_one_run(people: People) -> None:
    await limit(people, concurrent_runs=1, requests_per_minute=9, tokens_per_minute=1000)
    people.engine.hold()
    body = {"model": "fake-1", "input": ["sea"] * 40}
    embedded = asyncio.create_task(people.alice.post("/v1/embeddings", json=body))
    await people.engine.until_running(AT_ONCE)
    for path, other in (("/v1/completions", COMPLETION), ("/v1/embeddings", body), ("/api/embed", body)):
        response = await people.alice.post(path, json=other)
        assert (response.status, response.headers["Retry-After"]) == (429, "2")
    people.engine.allow(None)
    assert (await embedded).status == 200
    used = {each["tenant"]: each for each in (await read(people.root, "/api/admin/tenants"))["data"]}["alice"]
    assert (used["requests"], used["tokens"], used["live"]) == (1, 40 * 3, 0)
    await limit(people, tokens_per_minute=119)
    assert (await refusal(people, "/v1/embeddings", body))[0] == "tokens_per_minute_limit"


async def test_conversation_limit_covers_every_way_to_create_one(people: People) -> None:
    await limit(people, conversations=2)
    answer = await said(people.alice, first := await created(people.alice), "hello")
    response = await people.alice.post("/v1/responses", json={"model": "fake-1", "input": "hi"})
    assert response.status == 200
    exported = await read(people.alice, "/api/export")
    exported["conversations"][0]["id"] = "elsewhere"
    full = ("conversations_limit", RETRY_SECONDS)
    for path, body in (
        ("/api/conversations", {}),
        ("/v1/conversations", {}),
        ("/v1/responses", {"model": "fake-1", "input": "hi"}),
        (f"/api/conversations/{first}/fork", {"message_id": answer["id"]}),
        ("/api/import", exported),
    ):
        assert await refusal(people, path, body) == full, path
    assert people.engine.running == 0
    more = {"model": "fake-1", "input": "more", "previous_response_id": (await response.json())["id"]}
    assert (await people.alice.post("/v1/responses", json=more)).status == 200, (
        "a continued response must not count as a conversation"
    )
    assert (await people.alice.post("/v1/responses", json={**more, "store": False})).status == 200
    # Deleted conversations can be restored, so they count towards the limit until removed for good.
    assert (await people.alice.delete(f"/api/conversations/{first}")).status == 204
    assert (await refusal(people, "/api/conversations", {}))[0] == "conversations_limit"
    assert (await people.alice.delete(f"/api/conversations/{first}?permanently=true")).status == 204
    await created(people.alice)


async def test_omitted_limit_is_unlimited(people: People) -> None:
    await limit(people, requests_per_minute=0)
    await limit(people, conversations=9)
    assert (await people.alice.post("/v1/completions", json=COMPLETION)).status == 200
    for body in ({"requests_per_minute": -1}, {"requests_per_minute": "1"}, {"requests": 1}):
        response = await people.root.put("/api/admin/tenants/alice/limits", json=body)
        assert (response.status, (await response.json())["error"]["param"]) == (400, next(iter(body)))
    assert (await people.root.put("/api/admin/tenants/a%20b/limits", json={})).status == 400


async def test_deleting_a_tenant_removes_only_its_own_data(people: People) -> None:
    await said(people.alice, await created(people.alice), "hello")
    kept = await created(people.bob)
    await said(people.bob, kept, "hello")
    people.engine.hold()
    live = await people.alice.post(f"/api/conversations/{await created(people.alice)}/messages", json={"content": "x"})
    going_on = await people.bob.post(f"/api/conversations/{await created(people.bob)}/messages", json={"content": "x"})
    await people.alice.put("/api/draft", json={"text": "typed"})
    deleted = await people.root.delete("/api/admin/tenants/alice")
    assert (deleted.status, await deleted.json()) == (200, {"keys": 1, "conversations": 2})
    assert people.engine.deleted_tenants == ["alice"]
    assert people.engine.running == 1
    assert people.server.services.records.runs.get(going_on.headers["X-Run-Id"], "bob") is not None
    assert (await people.alice.get("/api/conversations")).status == 401
    _, key = await people.server.services.access.administration.create_key("alice", "alice", "user")
    headers = {"Authorization": f"Bearer {key}"}
    assert (await (await people.alice.get("/api/conversations", headers=headers)).json())["data"] == []
    assert (await (await people.alice.get("/api/draft", headers=headers)).json())["text"] == ""
    run = f"/api/runs/{live.headers['X-Run-Id']}/events"
    assert (await people.alice.get(run, headers=headers)).status == 404
    assert len((await read(people.bob, f"/api/conversations/{kept}"))["messages"]) == 2
    people.engine.allow(None)
    answer = await said(people.bob, kept, "and?")
    assert answer["usage"]["completion_tokens"] == ANSWER_WORDS + 1


async def test_administrator_creates_lists_and_revokes_keys(people: People) -> None:
    made = await (await people.root.post("/api/admin/keys", json={"name": "laptop", "tenant": "alice"})).json()
    headers = {"Authorization": f"Bearer {made['key']}"}
    assert (await people.stranger.get("/api/conversations", headers=headers)).status == 200
    conversation = await created(people.alice)
    assert (await people.stranger.get(f"/api/conversations/{conversation}", headers=headers)).status == 200
    listed = (await read(people.root, "/api/admin/keys"))["data"]
    assert [(key["name"], key["tenant"], key["scope"]) for key in listed][-1] == ("laptop", "alice", "user")
    assert all(not {"key", "digest"} & key.keys() for key in listed)
    for body, field in (({"name": "a b"}, "name"), ({"name": "x", "scope": "king"}, "scope"), ({}, "name")):
        refused = await people.root.post("/api/admin/keys", json=body)
        assert (refused.status, (await refused.json())["error"]["param"]) == (400, field)
    assert (await people.root.delete(f"/api/admin/keys/{made['id']}")).status == 204
    assert (await people.stranger.get("/api/conversations", headers=headers)).status == 401
    assert (await people.root.delete("/api/admin/keys/none")).status == 404


async def test_reservation_that_no_disk_can_hold_is_refused(people: People) -> None:
    response = await people.root.put("/api/admin/tenants/alice/limits", json={"kv_reserved": 1 << 30})
    error = (await response.json())["error"]
    assert (response.status, error["code"], error["param"]) == (400, "reservation_too_large", "kv_reserved")
    await limit(people, kv_reserved=0)
