"""The cost of a request grows in proportion to the rows that it reads or changes, and never holds the event loop.

Each route that lists, counts, searches, exports or deletes has a row. A new route fails `test_every_route_has_a_row`
until it has one too, or is named among those that read and change a few rows only.
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
from app.accounts.scim_plan import ScimPlan
from tests.cpu_time import cpu_clock
from tests.integration.app.access.route_tables import ADMIN, OF_FIRST_ADMIN, OWN, SHARED, Call, without_names
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
    Row(("GET", "/api/conversations/{long}")),
    Row(("GET", "/api/conversations/{long}/tree")),
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
    Row(("GET", "/api/account/former-chats"), client="root"),
    Row(("GET", "/scim/v2/Users"), client="provider"),
    Row(("GET", "/scim/v2/Users?startIndex={late}"), client="provider"),
    Row(("GET", "/scim/v2/Users?filter=userName+eq+%22person-9%22"), client="provider"),
    Row(("GET", "/scim/v2/Users?filter=userName+co+%22nobody%22"), client="provider"),
    Row(("GET", "/scim/v2/Groups"), client="provider"),
    Row(("GET", "/scim/v2/Groups/{everyone}"), client="provider"),
)

CHANGING: Final = (
    Row(("POST", "/api/conversations/bulk"), {"conversation_ids": "{some}", "pinned": True}),
    Row(("POST", "/api/conversations/bulk"), {"conversation_ids": "{some}", "deleted": True}),
    Row(("POST", "/api/conversations/bulk"), {"conversation_ids": "{some}", "deleted": False}),
    Row(("PUT", "/api/conversations/{long}/head"), {"message_id": "{early}"}),
    Row(("POST", "/api/conversations/{long}/fork"), {"message_id": "{last}"}),
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
    Row(("DELETE", "/scim/v2/Users/{person}"), client="provider"),
    # Servers that miss thousands of changes read everything again, so the larger group is not removed.
    Row(("DELETE", "/scim/v2/Groups/{some_people}"), client="provider"),
)
"""In this order, once each: the last ones remove what the others need."""

OF_FEW_ROWS: Final = {
    ("GET", "/api/live"),
    ("DELETE", "/api/admin/keys/{id}"),
    ("GET", "/api/conversations/{id}/draft"),
    ("GET", "/api/draft"),
    ("DELETE", "/api/conversations/{id}/warm"),
    ("GET", "/api/account"),
    ("DELETE", "/api/account/former-chats"),
    ("GET", "/v1/conversations/{id}"),
    # Tenants may have a fixed number of these.
    ("DELETE", "/api/shares/{id}"),
    ("DELETE", "/api/folders/{id}"),
    ("GET", "/api/presets"),
    ("DELETE", "/api/presets/{id}"),
    ("GET", "/api/prompts"),
    ("DELETE", "/api/prompts/{id}"),
    ("GET", "/api/files"),
    ("GET", "/api/files/{id}"),
    ("DELETE", "/api/files/{id}"),
    # These belong to one answer.
    ("GET", "/api/runs/{id}/events"),
    ("GET", "/api/runs/{id}/kv"),
    ("GET", "/v1/responses/{id}"),
    ("DELETE", "/v1/responses/{id}"),
    ("GET", "/v1/responses/{id}/input_items"),
    # These belong to the model.
    ("GET", "/v1/models"),
    ("GET", "/v1/models/{name:path}"),
    ("GET", "/api/tags"),
    ("GET", "/api/ps"),
    ("GET", "/api/version"),
    ("GET", "/tokenizer_info"),
}


TOKEN: Final = "t" * 40
ACCOUNTS: Final = Accounts(scim=ScimPlan(hashlib.sha256(TOKEN.encode()).digest(), "https://login.example"))


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
        if isinstance(value, dict):
            return {name: self.filled(part) for name, part in value.items()}
        if not isinstance(value, str):
            return value
        for name, thing in self.names.items():
            if value == f"{{{name}}}":
                return thing
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
    await add_accounts(services.store, count)
    groups = await provision_accounts(services.store, count)
    await services.ring.read()
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
    calls = {without_names(call) for table in (ADMIN, OWN, SHARED, OF_FIRST_ADMIN) for call in table}
    rows = {without_names(row.call) for row in (*READING, *CHANGING)}
    # The library of SCIM has the routes below its own.
    assert {method for method, path in rows if path.startswith("/scim/")} == {"GET", "DELETE"}
    assert {call for call in calls if call[0] in ("GET", "DELETE")} - rows == OF_FEW_ROWS
