"""The cost of a request grows in proportion to the rows that it reads or changes, and never holds the event loop.

Each route of tenants, people and administrators that lists, counts, searches, exports or deletes has a row, whatever
its method. A new route fails `test_every_route_has_a_row` until it has one too, or is in `WITHOUT_ROW` with the reason.
"""

import asyncio
import hashlib
import json
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from math import inf
from pathlib import Path
from typing import Any, Final, NamedTuple
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest

from app.accounts.accounts import Accounts
from app.accounts.passwords import Passwords
from app.accounts.rules import GroupRules
from app.accounts.scim_plan import ScimPlan
from tests.cpu_time import cpu_clock
from tests.integration.app.access.route_tables import (
    ADMIN,
    OF_FIRST_ADMIN,
    OF_PERSONS,
    OWN,
    PROVISIONING,
    SHARED,
    STORED_NOWHERE,
    Call,
    without_names,
)
from tests.integration.tenants import People, serving_people
from tests.loop_time import watched_loop
from tests.many_accounts import add_accounts, provision_accounts
from tests.many_chats import ManyChats, add_chats, add_long_chat
from tests.sizes import Size

TIMES: Final = 4
"""Growth of the rows."""
MOST_GROWTH: Final = 6.0
MOST_LOOP_SECONDS: Final = 0.02
LEAST_SECONDS: Final = 0.02
"""Times below this one count as this one: they are noise."""
ATTEMPTS: Final = 3
"""Measurements of all rows, of which the least count, until they suffice."""


SCIM_USER: Final = {"schemas": ["urn:ietf:params:scim:schemas:core:2.0:User"]}
SCIM_PATCH: Final = {"schemas": ["urn:ietf:params:scim:api:messages:2.0:PatchOp"]}


class Row(NamedTuple):
    """A request. Names in braces are those of `Served.names`.

    body: names in it stand for lists too.
    client: who sends it.
    refused: whether the response is an error.
    """

    call: Call
    body: Any = None
    client: str = "alice"
    refused: bool = False


READING: Final = (
    Row(("GET", "/api/conversations")),
    Row(("GET", "/api/conversations?limit=500&archived=true")),
    Row(("GET", "/api/conversations?shown_in=top&offset={late}")),
    Row(("GET", "/api/conversations?tag=sea&offset=0")),
    Row(("GET", "/api/conversations/{long}")),
    Row(("GET", "/api/conversations/{long}?limit=40")),
    Row(("GET", "/api/conversations/{long}?limit=40&to={middle}")),
    Row(("GET", "/api/conversations/{long}?limit=40&from={early}")),
    Row(("GET", "/api/conversations/{long}/tree")),
    Row(("GET", "/api/conversations/{long}/find?q=the+sea")),
    Row(("GET", "/api/conversations/{long}/export")),
    Row(("GET", "/api/conversations/{long}/export?format=markdown")),
    Row(("GET", "/api/deleted-conversations")),
    Row(("GET", "/api/deleted-messages")),
    Row(("GET", "/api/shares")),
    Row(("GET", "/api/folders")),
    Row(("GET", "/api/search?q=tide")),
    Row(("GET", "/api/search?q=bay+1")),
    Row(("GET", "/api/search?q=tdie")),
    Row(("GET", "/api/search?q=tide&archived=true&since=1")),
    Row(("GET", "/api/export")),
    Row(("POST", "/api/export"), {"conversation_ids": "{some}"}),
    Row(("POST", "/api/places"), {"conversation_ids": "{few}"}),
    Row(("POST", "/api/prompt-size"), {"conversation_id": "{long}", "content": "x", "system_prompt": None}),
    Row(("GET", "/api/models?conversation_id={long}")),
    Row(("GET", "/api/account/usage")),
    Row(("GET", "/v1/conversations/{long}/items")),
    Row(("GET", "/v1/conversations/{long}/items?order=asc&after={early}")),
    Row(("GET", "/v1/conversations/{long}/items?after={middle}")),
    Row(("GET", "/v1/conversations/{long}/items/{early}")),
    Row(("GET", "/metrics"), client="root"),
    Row(("GET", "/api/admin/keys"), client="root"),
    Row(("GET", "/api/admin/keys?q=nobody"), client="root"),
    Row(("GET", "/api/admin/people"), client="root"),
    Row(("GET", "/api/admin/people?q=nobody"), client="root"),
    Row(("GET", "/api/admin/tenants"), client="root"),
    Row(("GET", "/api/admin/tenants?q=nobody"), client="root"),
    Row(("GET", "/api/admin/tenants/{tenant}/usage"), client="root"),
    Row(("GET", "/api/account/former-chats"), client="root"),
    Row(("GET", "/scim/v2/Users"), client="provider"),
    Row(("GET", "/scim/v2/Users?startIndex={late}"), client="provider"),
    Row(("GET", "/scim/v2/Users?filter=userName+eq+%22person-9%22"), client="provider"),
    Row(("GET", "/scim/v2/Users?filter=userName+co+%22nobody%22"), client="provider"),
    Row(("GET", "/scim/v2/Groups"), client="provider"),
    Row(("GET", "/scim/v2/Groups/{everyone}"), client="provider"),
)

CHANGING: Final = (
    Row(("POST", "/api/conversations"), {}),
    Row(("PATCH", "/api/conversations/{long}"), {"title": "Sea", "pinned": True}),
    Row(("POST", "/api/conversations/{long}/seen")),
    Row(("POST", "/api/conversations/{long}/shares"), {}),
    Row(("POST", "/v1/conversations"), {}),
    Row(("POST", "/v1/conversations/{long}"), {"metadata": {"topic": "sea"}}),
    Row(("POST", "/v1/conversations/{long}/items"), {"items": [{"role": "user", "content": "And?"}]}),
    Row(("POST", "/api/admin/keys"), {"name": "carol"}, client="root"),
    Row(("POST", "/api/admin/people"), {"name": "carol"}, client="root"),
    Row(("PATCH", "/api/admin/people/{person}"), {"disabled": True}, client="root"),
    Row(("PATCH", "/api/admin/people/{person}"), {"disabled": False}, client="root"),
    Row(("PUT", "/api/admin/tenants/{tenant}/limits"), {"conversations": 100_000}, client="root"),
    Row(("POST", "/api/conversations/bulk"), {"conversation_ids": "{some}", "pinned": True}),
    Row(("POST", "/api/conversations/bulk"), {"conversation_ids": "{some}", "deleted": True}),
    Row(("POST", "/api/conversations/bulk"), {"conversation_ids": "{some}", "deleted": False}),
    Row(("POST", "/api/conversations/{long}/fork"), {"message_id": "{last}"}),
    Row(("PUT", "/api/conversations/{long}/head"), {"message_id": "{early}"}),
    # From here on the path is short enough for the window of the model.
    Row(("POST", "/api/conversations/{long}/warm")),
    Row(("POST", "/api/conversations/{long}/summary"), {"left_out": 2}),
    Row(("POST", "/api/messages/{answer}/edit"), {"content": "Why?"}),
    Row(("POST", "/api/messages/{answer}/retry"), {}),
    Row(("PUT", "/api/messages/{answer}/rating"), {"rating": "good"}),
    Row(("POST", "/api/conversations/{long}/messages"), {"content": "And?", "parent_id": "{answer}"}),
    Row(("POST", "/v1/responses"), {"model": "fake-1", "input": "And?", "conversation": "{long}"}),
    Row(("DELETE", "/api/messages/{early}")),
    Row(("POST", "/api/messages/{early}/restore")),
    Row(("DELETE", "/v1/conversations/{long}/items/{early}")),
    Row(("DELETE", "/api/conversations/{long}")),
    Row(("POST", "/api/conversations/{long}/restore")),
    Row(("DELETE", "/api/conversations/{long}?permanently=true")),
    Row(("DELETE", "/v1/conversations/{other}")),
    Row(("POST", "/api/import/preview"), "{exported}"),
    Row(("POST", "/api/import"), "{wrong}", refused=True),
    Row(("POST", "/api/import"), "{exported}"),
    # All of them are skipped.
    Row(("POST", "/api/import"), "{exported}"),
    Row(("DELETE", "/api/conversations")),
    Row(("DELETE", "/api/deleted-conversations")),
    Row(("DELETE", "/api/admin/tenants/{tenant}"), client="root"),
    Row(("POST", "/api/account/former-chats"), client="root"),
    Row(("POST", "/scim/v2/Users"), SCIM_USER | {"userName": "carol", "externalId": "carol"}, client="provider"),
    Row(
        ("PUT", "/scim/v2/Users/{person}"),
        SCIM_USER | {"userName": "person-0", "externalId": "external-0", "displayName": "Ada"},
        client="provider",
    ),
    Row(
        ("PATCH", "/scim/v2/Groups/{some_people}"),
        SCIM_PATCH | {"Operations": [{"op": "remove", "path": 'members[value eq "{person}"]'}]},
        client="provider",
    ),
    Row(("DELETE", "/scim/v2/Users/{person}"), client="provider"),
    # Servers that miss thousands of changes read everything again, so the larger group is not removed.
    Row(("DELETE", "/scim/v2/Groups/{some_people}"), client="provider"),
)
"""In this order, once each: the last ones remove what the others need."""

WITHOUT_ROW: Final[dict[str, set[Call]]] = {
    "reads and changes a few rows": {
        ("GET", "/api/live"),
        ("POST", "/api/admin/people/{id}/password"),
        ("POST", "/api/admin/replicas/{id}/drain"),
        ("DELETE", "/api/admin/keys/{id}"),
        ("GET", "/api/conversations/{id}/draft"),
        ("PUT", "/api/conversations/{id}/draft"),
        ("GET", "/api/draft"),
        ("PUT", "/api/draft"),
        ("DELETE", "/api/conversations/{id}/warm"),
        ("GET", "/api/conversations/{id}/promise"),
        ("GET", "/api/account"),
        ("DELETE", "/api/account/former-chats"),
        ("GET", "/v1/conversations/{id}"),
    },
    "a tenant has a fixed number of these": {
        ("DELETE", "/api/shares/{id}"),
        ("POST", "/api/folders"),
        ("PUT", "/api/folders/{id}"),
        ("DELETE", "/api/folders/{id}"),
        ("GET", "/api/presets"),
        ("POST", "/api/presets"),
        ("PUT", "/api/presets/{id}"),
        ("DELETE", "/api/presets/{id}"),
        ("GET", "/api/prompts"),
        ("POST", "/api/prompts"),
        ("PUT", "/api/prompts/{id}"),
        ("DELETE", "/api/prompts/{id}"),
        ("GET", "/api/files"),
        ("POST", "/api/files"),
        ("GET", "/api/files/{id}"),
        ("DELETE", "/api/files/{id}"),
    },
    "a person has a fixed number of these": {
        ("GET", "/api/account/keys"),
        ("POST", "/api/account/keys"),
        ("DELETE", "/api/account/keys/{id}"),
        ("GET", "/api/account/sessions"),
        ("DELETE", "/api/account/sessions/{id}"),
        ("PUT", "/api/account/password"),
        ("POST", "/api/account/second-factor"),
        ("PUT", "/api/account/second-factor"),
        ("POST", "/api/account/second-factor/removal"),
    },
    "belongs to one answer": {
        ("POST", "/api/messages/{id}/continue"),
        ("GET", "/api/runs/{id}/events"),
        ("GET", "/api/runs/{id}/kv"),
        ("POST", "/api/runs/{id}/cancel"),
        ("GET", "/v1/responses/{id}"),
        ("DELETE", "/v1/responses/{id}"),
        ("POST", "/v1/responses/{id}/cancel"),
        ("GET", "/v1/responses/{id}/input_items"),
    },
    "takes all that it reads from its body": {
        ("POST", "/v1/chat/completions"),
        ("POST", "/v1/completions"),
        ("POST", "/v1/embeddings"),
        ("POST", "/v1/rerank"),
        ("POST", "/v2/rerank"),
        ("POST", "/v1/score"),
        ("POST", "/v1/messages"),
        ("POST", "/v1/messages/count_tokens"),
        ("POST", "/v1/responses/input_tokens"),
        ("POST", "/v1/responses/compact"),
        ("POST", "/api/chat"),
        ("POST", "/api/generate"),
        ("POST", "/api/embed"),
        ("POST", "/api/embeddings"),
        ("POST", "/api/document-text"),
        ("POST", "/tokenize"),
        ("POST", "/detokenize"),
    },
    "belongs to the model": {
        ("POST", "/models/load"),
        ("POST", "/api/models/load"),
        ("POST", "/models/unload"),
        ("POST", "/v1/load_lora_adapter"),
        ("POST", "/v1/unload_lora_adapter"),
        ("GET", "/v1/models"),
        ("GET", "/v1/models/{name:path}"),
        ("GET", "/api/tags"),
        ("GET", "/api/ps"),
        ("POST", "/api/show"),
        ("GET", "/api/version"),
        ("GET", "/tokenizer_info"),
    },
}
"""Calls that neither list, count, search, export nor delete many rows, by the reason."""


TOKEN: Final = "t" * 40
ACCOUNTS: Final = Accounts(
    rules=GroupRules(admits_own=True),
    passwords=Passwords(memory_kib=64),
    scim=ScimPlan(hashlib.sha256(TOKEN.encode()).digest(), "https://login.example"),
)


class Served(NamedTuple):
    """A server with many rows.

    names: what the names of a row stand for.
    clock: CPU seconds of the server and its database.
    """

    people: People
    names: dict[str, Any]
    clock: Callable[[], float]

    def filled(self, value: Any) -> Any:
        """Return a path or a body with what its names stand for."""
        if isinstance(value, list):
            return [self.filled(part) for part in value]
        if isinstance(value, dict):
            return {name: self.filled(part) for name, part in value.items()}
        if not isinstance(value, str):
            return value
        for name, thing in self.names.items():
            if value == f"{{{name}}}":
                return thing
            if f"{{{name}}}" in value:
                value = value.replace(f"{{{name}}}", str(thing))
        return value


@asynccontextmanager
async def served(path: Path, count: int) -> AsyncIterator[tuple[Served, Served]]:
    """Serve from two databases, of which the second one has TIMES as many rows."""
    async with AsyncExitStack() as stack:
        servers = list[Served]()
        for number in (count, TIMES * count):
            folder = path / str(number)
            folder.mkdir(parents=True)
            people = await stack.enter_async_context(serving_people(folder, accounts=ACCOUNTS))
            people.keys["provider"] = TOKEN
            clock = await cpu_clock(people.server.services.store)
            servers.append(Served(people, await filled(people, number), clock))
        yield servers[0], servers[1]


async def filled(people: People, count: int) -> dict[str, Any]:
    """Fill the database of a server, and return the names of what it has."""
    services = people.server.services
    people.engine.allow(None)
    await add_accounts(services.store, count)
    groups = await provision_accounts(services.store, count)
    await services.access.ring.read()
    await add_chats(services.store.of("bob"), count)
    alice = services.store.of("alice")
    made = await add_chats(alice, count)
    other, _ = await add_long_chat(alice, count)
    async with people.alice.get("/api/export") as response:
        exported = json.loads(await response.read())
    return {
        **_names(made),
        "other": other,
        "tenant": "bob",
        "everyone": groups.everyone,
        "some_people": groups.some,
        "person": "0" * 16,
        "late": count - 9,
        "exported": exported,
        # The error is at the end of the file.
        "wrong": exported | {"conversations": [*exported["conversations"], {}]},
    }


def _names(made: ManyChats) -> dict[str, Any]:
    messages = made.messages
    return {
        "long": made.long,
        "early": messages[2],
        "middle": messages[len(messages) // 2],
        "answer": messages[3],
        "last": messages[-1],
        "some": made.chats[:500],
        "few": made.chats[:100],
    }


class Cost(NamedTuple):
    """Cost of a request.

    seconds: CPU time.
    block: CPU seconds of the longest callback, in the thread of the event loop. Other programs of the machine hardly
        change them. Waiting does not count, so this is no bound on the time that passes on a busy machine.
    """

    seconds: float
    block: float

    def least(self, other: "Cost") -> "Cost":
        """Return what both have in common. The rest is noise."""
        return Cost(min(self.seconds, other.seconds), min(self.block, other.block))


NOTHING: Final = Cost(inf, inf)


async def cost(server: Served, row: Row) -> Cost:
    """Send a request, and return its cost."""
    method, path = row.call
    body = json.dumps(server.filled(row.body)).encode() if row.body is not None else None
    headers = {"Authorization": f"Bearer {server.people.keys[row.client]}", "Content-Type": "application/json"}
    request = Request(server.people.server.url + server.filled(path), body, headers, method=method)
    with watched_loop() as longest:
        began = server.clock()
        # In a thread, for the loop to have no work of the client.
        await asyncio.to_thread(_answer, request, row.refused)
        return Cost(server.clock() - began, longest.seconds)


def _answer(request: Request, refused: bool) -> None:
    """Send a request, read its response to the end, and check whether it is an error."""
    try:
        with urlopen(request) as response:
            status, read = response.status, response.read()
    except HTTPError as error:
        status, read = error.code, error.read()
    assert status == 400 if refused else status < 400, f"{request.method} {request.selector}: {status} {read[:300]!r}"


async def test_costs_grow_with_the_rows(tmp_path: Path, size: Size) -> None:
    count = size.pick(small=40, full=2500)
    rows = [*READING, *CHANGING]
    few, many = [NOTHING] * len(rows), [NOTHING] * len(rows)
    for attempt in range(ATTEMPTS):
        async with served(tmp_path / str(attempt), count) as both:
            for place, row in enumerate(rows):
                for least, server in zip((few, many), both, strict=True):
                    least[place] = least[place].least(await cost(server, row))
        lines = [_line(*each) for each in zip(rows, few, many, strict=True)]
        print("\n".join(lines))
        faults = [line for line in lines if "TOO MUCH" in line]
        if not faults:
            return
    pytest.fail("\n".join(faults))


def _line(row: Row, few: Cost, many: Cost) -> str:
    most = MOST_GROWTH * max(few.seconds, LEAST_SECONDS)
    line = f"{' '.join(row.call)}: {many.seconds * 1000:.0f} ms of {most * 1000:.0f}, loop {many.block * 1000:.0f} ms"
    return line + (" TOO MUCH" if many.seconds > most or many.block > MOST_LOOP_SECONDS else "")


def test_every_route_has_a_row() -> None:
    tables = (ADMIN, OWN, SHARED, OF_FIRST_ADMIN, OF_PERSONS, STORED_NOWHERE)
    calls = {without_names(call) for table in tables for call in table}
    rows = {without_names(row.call) for row in (*READING, *CHANGING)}
    # The library of SCIM has the routes below its own.
    provisioning = {call for call in rows if call[1].startswith("/scim/")}
    assert {method for method, _ in provisioning} == {method for method, _ in PROVISIONING}
    exempt = [call for calls in WITHOUT_ROW.values() for call in calls]
    assert sorted(calls - rows) == sorted(exempt)
    assert rows - provisioning <= calls
