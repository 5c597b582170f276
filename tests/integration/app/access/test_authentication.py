"""Access of tenants to routes, by the tables of `route_tables`."""

import json
import re
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from starlette.routing import Mount, Route
from yarl import URL

from app.http.error_formats import is_ollama
from app.services import Services
from engine.testing.script import ANSWER_WORDS
from models.retrieval.folder import Retrieval
from models.retrieval.score_head import ScoreHead
from tests.integration.app.access.route_tables import (
    ADMIN,
    FOLLOWED,
    GENERATING,
    OF_FIRST_ADMIN,
    OF_PERSONS,
    OPEN,
    OWN,
    PROVISIONING,
    REFUSED,
    SHARED,
    STORED_NOWHERE,
    Call,
    without_names,
)
from tests.integration.conversations_client import created, error_of, read, said, shown
from tests.integration.sse_events import all_events
from tests.integration.tenants import People, serving_people

KEYS_DOC = Path(__file__).parents[4] / "docs" / "guides" / "keys.md"
SECRET = "periwinkle"
"""Text that appears only in Alice's data."""


@pytest.fixture
async def people(tmp_path: Path) -> AsyncIterator[People]:
    async with serving_people(tmp_path) as found:
        yield found


def routes_of(people: People) -> set[Call]:
    """Collect the routes of the running application, without HEAD, which comes with GET."""
    calls: set[Call] = set()
    for route in people.server.app.routes:
        if isinstance(route, Mount):
            calls.add(("GET", route.path))
        else:
            assert isinstance(route, Route)
            calls |= {(method, route.path) for method in route.methods or () if method != "HEAD"}
    return calls


def test_every_route_has_an_operation(people: People) -> None:
    tables = (OPEN, PROVISIONING, ADMIN, SHARED, OF_PERSONS, OF_FIRST_ADMIN, STORED_NOWHERE, FOLLOWED, REFUSED)
    assert routes_of(people) == {call for table in tables for call in table} | {without_names(call) for call in OWN}


def test_documentation_lists_the_open_and_admin_routes() -> None:
    table = KEYS_DOC.read_text().partition("| route | takes |")[2].partition("\n\n")[0]
    rows = [line.split("|")[1:3] for line in table.splitlines() if "/" in line]
    documented = {
        tuple(call.split(" ")): takes for calls, takes in rows for call in re.findall("`([A-Z]+ [^`]+)`", calls)
    }
    assert {call for call, takes in documented.items() if "nothing" in takes} == OPEN
    assert {call for call, takes in documented.items() if "nothing" not in takes} == ADMIN.keys()


async def ask(http: aiohttp.ClientSession, call: Call, body: Any = None, names: dict[str, str] | None = None) -> Any:
    """Send one call, with `names` substituted in path and body, and return the response."""
    method, path = call
    for name, value in (names or {}).items():
        path = path.replace(f"{{{name}}}", value)
        body = json.loads(json.dumps(body).replace(f"{{{name}}}", value))
    return await http.request(method, path, json=body)


async def things_of_alice(people: People) -> dict[str, str]:
    """Create one thing of every kind for Alice, and return their ids by name."""
    alice, engine = people.alice, people.engine
    engine.allow(None)
    conversation = await created(alice, title=SECRET)
    answer = await said(alice, conversation, SECRET)
    cut = await said(alice, conversation, "cut", parent_id=answer["id"], params={"max_tokens": 3})
    hidden = await said(alice, conversation, "hidden", parent_id=answer["id"])
    assert (await alice.delete(f"/api/messages/{hidden['parent_id']}")).status == 200
    deleted = await created(alice, title=SECRET)
    assert (await alice.delete(f"/api/conversations/{deleted}")).status == 204
    elsewhere = await said(alice, await created(alice, title=SECRET), SECRET)
    people.server.services.records.runs._runs.pop(elsewhere["run_id"])
    response = await (await alice.post("/v1/responses", json={"model": "fake-1", "input": SECRET})).json()
    preset = await (await alice.post("/api/presets", json={"name": f"{SECRET} {conversation}"})).json()
    folder = await (await alice.post("/api/folders", json={"name": f"{SECRET} {conversation}"})).json()
    share = await (await alice.post(f"/api/conversations/{conversation}/shares", json={})).json()
    fields = {"name": f"{SECRET} {conversation}", "text": SECRET}
    prompt = await (await alice.post("/api/prompts", json=fields)).json()
    file = await (await alice.post("/api/files", json=fields)).json()
    engine.hold()
    body = {"model": "fake-1", "input": SECRET, "background": True}
    background = await (await alice.post("/v1/responses", json=body)).json()
    busy = await created(alice)
    live = await alice.post(f"/api/conversations/{busy}/messages", json={"content": SECRET})
    assert live.status == 200
    return {
        "id": conversation,
        "message": answer["id"],
        "cut": cut["id"],
        "hidden": hidden["parent_id"],
        "deleted": deleted,
        "busy": busy,
        "run": answer["run_id"],
        "stored": elsewhere["run_id"],
        "live": live.headers["X-Run-Id"],
        "response": response["id"],
        "background": background["id"],
        "folder": folder["id"],
        "share": share["id"],
        "preset": preset["id"],
        "prompt": prompt["id"],
        "file": file["id"],
    }


async def all_rows(services: Services) -> dict[str, list[tuple[Any, ...]]]:
    """Read all stored rows, except for events that live runs append and the times at which keys were used."""
    tables = (
        "conversation",
        "message",
        "response",
        "draft",
        "folder",
        "share",
        "preset",
        "saved_prompt",
        "kept_file",
        "preference",
        "tenant_limits",
        "run",
    )
    read_all = services.store.database.read
    return {table: [tuple(row) for row in await read_all(f"SELECT * FROM {table}")] for table in tables}


async def test_other_tenants_data_is_not_found_and_unchanged(people: People) -> None:
    engine = people.engine
    names = await things_of_alice(people)
    for call, body in OWN.items():
        before, running = await all_rows(people.server.services), engine.running
        refused = await ask(people.bob, call, body, names)
        assert refused.status == 404, f"{call}: {refused.status} {await refused.text()}"
        text = await refused.text()
        missing = await ask(people.bob, call, body, dict.fromkeys(names, "nothing"))
        assert missing.status == 404, call
        # The response does not reveal whether the thing exists, and names nothing beyond the request.
        asked = {name: value for name, value in names.items() if f"{{{name}}}" in call[1] + json.dumps(body)}
        for value in asked.values():
            text = text.replace(value, "nothing")
        assert text == await missing.text(), call
        assert await all_rows(people.server.services) == before, call
        assert engine.running == running, call
    for call, body in OWN.items():
        engine.allow(None)
        own = await ask(people.alice, call, body, names)
        if own.status >= 300:
            # An earlier call may have ended or deleted the thing.
            names = await things_of_alice(people)
            engine.allow(None)
            own = await ask(people.alice, call, body, names)
        assert own.status < 300, f"{call}: {own.status} {await own.text()}"
        await own.read()
        await people.server.services.records.runs.join()
    assert {request.tenant for request in engine.requests} == {"alice"}


async def test_shared_routes_reveal_nothing_of_other_tenants(people: People) -> None:
    await things_of_alice(people)
    await people.alice.put("/api/draft", json={"text": SECRET})
    people.engine.allow(None)
    people.engine.retrieval = Retrieval(head=ScoreHead([0.0, 0.0, 0.0]))
    for call, body in SHARED.items():
        method, path = call[0], call[1].replace("{name:path}", "fake-1")
        if path == "/api/search":
            path += f"?q={SECRET}"
        response = await people.bob.request(method, path, json=body)
        text = await response.text()
        assert response.status < 300, f"{call}: {text}"
        assert SECRET not in text, call
        if path in GENERATING:
            assert people.engine.requests[-1].tenant == "bob", call
    assert (await read(people.alice, "/api/draft"))["text"] == SECRET
    found = await read(people.alice, "/api/search", q=SECRET)
    assert found["messages"]
    assert found["conversations"]


async def test_ids_in_bodies_do_not_reach_another_tenants_data(people: People) -> None:
    names = await things_of_alice(people)
    people.engine.allow(None)
    bob = people.bob
    mine = await created(bob)
    await said(bob, mine, "hello")
    before = await all_rows(people.server.services)
    for path, body, status in (
        ("/v1/responses", {"model": "fake-1", "input": "x", "previous_response_id": names["response"]}, 400),
        ("/v1/responses", {"model": "fake-1", "input": "x", "conversation": names["id"]}, 404),
        (f"/api/conversations/{mine}/messages", {"content": "x", "parent_id": names["message"]}, 400),
        (f"/api/conversations/{mine}/fork", {"message_id": names["message"]}, 404),
        ("/api/conversations", {"folder_id": names["folder"]}, 400),
        ("/api/conversations/bulk", {"conversation_ids": [mine], "folder_id": names["folder"]}, 400),
        ("/api/conversations/bulk", {"conversation_ids": [names["id"]], "deleted": True}, 200),
        ("/api/conversations/bulk", {"conversation_ids": [names["id"]], "add_tags": ["bob"]}, 200),
        ("/api/conversations/bulk", {"conversation_ids": [names["deleted"]], "deleted": False}, 200),
    ):
        assert (await bob.post(path, json=body)).status == status, path
    assert (await bob.put(f"/api/conversations/{mine}/head", json={"message_id": names["message"]})).status == 404
    assert (await bob.delete(f"/v1/conversations/{mine}/items/{names['message']}")).status == 404
    export = await (await bob.post("/api/export", json={"conversation_ids": [names["id"]]})).json()
    assert export["conversations"] == []
    places = await bob.post("/api/places", json={"conversation_ids": [names["id"], mine]})
    assert await places.json() == {"data": [{"conversation_id": mine, "place": None}]}
    assert {tenant for tenant, _ in people.engine.prefixes.asked} == {"bob"}
    assert await all_rows(people.server.services) == before


async def test_message_id_chosen_by_another_tenant_is_a_conflict(people: People) -> None:
    chosen = "msg_chosen-by-a-client-0"
    asked = {"content": SECRET, "id": chosen}
    first = await people.alice.post(f"/api/conversations/{await created(people.alice)}/messages", json=asked)
    assert first.status == 200
    await all_events(first)
    again = await people.bob.post(f"/api/conversations/{await created(people.bob)}/messages", json=asked)
    assert (await error_of(again, 409))["code"] == "message_exists"
    assert SECRET not in await again.text()


async def test_import_of_another_tenants_export_is_no_duplicate(people: People) -> None:
    conversation = await created(people.alice)
    await said(people.alice, conversation, "hello")
    exported = await read(people.alice, "/api/export")
    imported = await (await people.bob.post("/api/import", json=exported)).json()
    assert imported["skipped"] == []
    assert (await shown(people.bob, imported["imported"][0]))["messages"][0]["content"] == "hello"
    assert (await (await people.alice.post("/api/import", json=exported)).json())["imported"] == []


async def test_kv_is_computed_and_erased_under_its_tenant(people: People) -> None:
    for http in (people.alice, people.bob):
        conversation = await created(http)
        answer = await said(http, conversation, "the same words")
        for path in (f"/api/messages/{answer['id']}/retry", f"/api/conversations/{conversation}/messages"):
            await all_events(await http.post(path, json={"content": "more"} if "messages" in path[-9:] else {}))
    assert [request.tenant for request in people.engine.requests] == ["alice"] * 3 + ["bob"] * 3
    await people.alice.delete(f"/api/conversations/{conversation}?permanently=true")
    assert people.engine.erased == []
    await people.bob.delete(f"/api/conversations/{conversation}?permanently=true")
    trails = await people.engine.until_erased(1)
    assert set(people.engine.erased_of) == {"bob"}
    # Alice's identical prompt pins nothing of Bob's: tenants share no KV.
    assert {trail.num_shared for trail in trails} == {0}


def a_path(call: Call) -> str:
    """Fill in the path of a call with names that do not exist."""
    return call[1].replace("{name:path}", "x").replace("{tenant}", "x").partition("?")[0]


@pytest.mark.parametrize(
    "headers", [{}, {"Authorization": "Bearer sk-ebb-000000000000-" + "A" * 43}, {"X-Api-Key": "x"}]
)
async def test_every_route_that_is_not_open_requires_a_key(people: People, headers: dict[str, str]) -> None:
    closed = sorted(routes_of(people) - OPEN - PROVISIONING)
    for call in [*closed, ("GET", "/v1/nothing"), ("PUT", "/api/nothing/at/all")]:
        refused = await people.stranger.request(call[0], a_path(call), json={}, headers=headers)
        assert refused.status == 401, call
        assert refused.headers["WWW-Authenticate"] == "Bearer"
        error = (await refused.json())["error"]
        if call[1].startswith("/v1/messages"):
            assert error["type"] == "authentication_error"
        elif is_ollama(call[1]):
            assert "API key" in error
        else:
            assert error["code"] == ("invalid_api_key" if headers else "missing_api_key"), call
    assert people.engine.requests == []


async def test_open_routes_need_no_key_and_reveal_little(people: People) -> None:
    for method, path in OPEN - {("POST", "/api/login")}:
        response = await people.stranger.request(
            method, path.replace("{name}", "a.svg").replace("assets", "assets/a.js")
        )
        assert response.status not in (401, 403), path
    people.server.services.model.host.suggested_model = "qwen3-4b"
    for path in ("/health", "/ready"):
        told = await read(people.stranger, path)
        assert {name: value for name, value in told.items() if value is not None} == {"status": "ok"}
        assert (await read(people.alice, path))["tiers"] is None
        assert (await read(people.alice, path))["model"]["name"] == "fake-1"
        assert (await read(people.alice, path))["suggested_model"] is None
        assert (await read(people.root, path))["tiers"]["device"]["state"] == "ok"
        assert (await read(people.root, path))["suggested_model"] == "qwen3-4b"


async def test_admin_routes_require_the_admin_scope(people: People) -> None:
    for call, body in ADMIN.items():
        refused = await ask(people.alice, call, body, {"id": "x", "tenant": "alice"})
        assert (await error_of(refused, 403))["code"] == "admin_scope_required", call
    # The router takes a line feed at the end of a path for its end.
    assert (await people.root.get(URL("/metrics%0A", encoded=True))).status == 200
    assert (await people.alice.get(URL("/metrics%0A", encoded=True))).status == 403
    for call, body in ADMIN.items():
        allowed = await ask(people.root, call, body, {"id": "x", "tenant": "nobody"})
        assert allowed.status in (200, 201, 404), f"{call}: {await allowed.text()}"


async def test_administrator_cannot_read_chats_of_tenants(people: People) -> None:
    names = await things_of_alice(people)
    assert (await people.root.get(f"/api/conversations/{names['id']}")).status == 404
    assert (await read(people.root, "/api/conversations"))["data"] == []


async def test_resumed_run_keeps_its_tenant_after_restart(people: People, tmp_path: Path) -> None:
    people.engine.hold()
    path = f"/api/conversations/{await created(people.alice)}/messages"
    run_id = (await people.alice.post(path, json={"content": SECRET})).headers["X-Run-Id"]
    await people.engine.until_running(1)
    await people.server.services.model.host.stop(0)
    await people.server.services.records.runs.join()
    async with serving_people(tmp_path) as later:
        assert (await later.bob.get(f"/api/runs/{run_id}/events")).status == 404
        async with later.alice.get(f"/api/runs/{run_id}/events") as response:
            (*_, last) = await all_events(response)
        assert last.data["message"]["content"] == "".join(f" w{i}" for i in range(ANSWER_WORDS))
        assert [request.tenant for request in later.engine.requests] == ["alice"]
