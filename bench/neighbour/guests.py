"""The other tenant, in a separate process so that its work does not delay the clock of the measured one.

`python -m bench.neighbour.guests ORDER` reads a JSON object (`url`, `key`, `kind`, `seconds`, `seed` and the plan) from
its argument, behaves accordingly for `seconds`, and prints the number of its requests by outcome.
"""

import asyncio
import json
import random
import sys
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

import aiohttp

from app.load.words import WORDS
from bench.neighbour.plan import NeighbourPlan

Attack = Callable[["Guest"], Awaitable[None]]


@dataclass(slots=True)
class Guest:
    """One tenant's client: a session with its key, its random numbers and the outcomes of its requests."""

    session: aiohttp.ClientSession
    host: str
    port: int
    key: str
    rng: random.Random
    outcomes: Counter[str]
    model: str

    def words(self, count: int) -> str:
        """Draw `count` words."""
        return " ".join(self.rng.choices(WORDS, k=count))

    async def send(self, name: str, method: str, path: str, body: bytes | None = None) -> bytes:
        """Send a request, count its status under `name`, and return the answer's body."""
        headers = {"Content-Type": "application/json"} if body is not None else {}
        try:
            async with self.session.request(method, path, data=body, headers=headers) as response:
                self.outcomes[f"{name} {response.status}"] += 1
                return await response.read()
        except (aiohttp.ClientError, TimeoutError, ConnectionError) as error:
            self.outcomes[f"{name} {type(error).__name__}"] += 1
            await asyncio.sleep(0.5)
            return b""

    async def ask(self, name: str, content: str, **fields: object) -> bytes:
        """Ask for a chat completion."""
        body = {"model": self.model, "messages": [{"role": "user", "content": content}], **fields}
        return await self.send(name, "POST", "/v1/chat/completions", json.dumps(body).encode())


async def flood(guest: Guest) -> None:
    """Send prompts of some 1,200 tokens that share nothing, each for one token."""
    await guest.ask("flood", guest.words(1_100), max_tokens=1)


async def long_arrival(guest: Guest) -> None:
    """Send a prompt that nearly fills the window, then one far beyond it."""
    await guest.ask("long arrival", guest.words(3_500), max_tokens=4)
    await guest.ask("prompt beyond the window", " " * 50_000 + "the " * 880_000, max_tokens=4)


async def many_answers(guest: Guest) -> None:
    """Ask for sixteen long answers to one prompt."""
    await guest.ask("n=16", guest.words(50), n=16, max_tokens=400, ignore_eos=True)


async def costly_mask(guest: Guest) -> None:
    """Constrain an answer by a form whose masks take a long time."""
    form = {"regex": r"([a-z]{1,40}(, | and | or )){1,40}[a-z]{1,40}\."}
    await guest.ask("mask", guest.words(30), structured_outputs=form, max_tokens=200)


async def silent_reader(guest: Guest) -> None:
    """Ask for a long stream and never read it."""
    body = json.dumps(
        {
            "model": guest.model,
            "messages": [{"role": "user", "content": guest.words(20)}],
            "stream": True,
            "max_tokens": 3_000,
            "ignore_eos": True,
            "logprobs": True,
            "top_logprobs": 20,
        }
    ).encode()
    head = (
        f"POST /v1/chat/completions HTTP/1.1\r\nHost: {guest.host}:{guest.port}\r\nContent-Type: application/json\r\n"
        f"Authorization: Bearer {guest.key}\r\nContent-Length: {len(body)}\r\n\r\n"
    ).encode()
    try:
        reader, writer = await asyncio.open_connection(guest.host, guest.port, limit=2**12)
        writer.write(head + body)
        await writer.drain()
        reader._transport.pause_reading()  # type: ignore[attr-defined]
        await asyncio.sleep(60)
        writer.close()
        guest.outcomes["silent reader"] += 1
    except OSError as error:
        guest.outcomes[f"silent reader {type(error).__name__}"] += 1
        await asyncio.sleep(0.5)


async def repetitive_search(guest: Guest) -> None:
    """Store a message of one word many times over, and search for it."""
    imported = await guest.send("import", "POST", "/api/import", _conversations(guest, ["zz " * 51_200]))
    for word in ("zz", "the", "qqqq"):
        await guest.send("search", "GET", f"/api/search?q={word}")
    await _delete_all(guest, imported)


async def import_and_delete(guest: Guest) -> None:
    """Import conversations of many messages and delete them for good."""
    texts = [guest.words(40) for _ in range(400)]
    imported = await guest.send("import", "POST", "/api/import", _conversations(guest, *([texts] * 10)))
    await _delete_all(guest, imported)


async def _delete_all(guest: Guest, imported: bytes) -> None:
    try:
        ids = json.loads(imported).get("imported", [])
    except ValueError:
        return
    for each in ids:
        await guest.send("delete", "DELETE", f"/api/conversations/{each}?permanently=true")


def _conversations(guest: Guest, *chats: list[str]) -> bytes:
    def message(number: int, text: str) -> dict[str, object]:
        return {
            "id": f"m{number}",
            "parent_id": f"m{number - 1}" if number else None,
            "role": "assistant" if number % 2 else "user",
            "content": text,
            "status": "complete",
            "created_at": 1_767_225_000.0 + number,
        }

    conversations: list[dict[str, object]] = [
        {
            "id": f"c{guest.rng.getrandbits(60):x}",
            "title": None,
            "params": {},
            "created_at": 1_767_225_000.0,
            "updated_at": 1_767_225_000.0,
            "head_id": f"m{len(texts) - 1}",
            "messages": [message(number, text) for number, text in enumerate(texts)],
        }
        for texts in chats
    ]
    return json.dumps({"format": "ebb-conversations", "format_version": 1, "conversations": conversations}).encode()


HOSTILE: tuple[tuple[Attack, int, float], ...] = (
    (flood, 8, 0.0),
    (long_arrival, 1, 1.0),
    (many_answers, 2, 0.0),
    (costly_mask, 4, 0.0),
    (silent_reader, 10, 0.0),
    (repetitive_search, 1, 0.5),
    (import_and_delete, 1, 1.0),
)
"""Attacks, how many clients run each, and the seconds between two of one client."""

ATTACKS = tuple(attack.__name__ for attack, _, _ in HOSTILE)


def hostile(plan: NeighbourPlan) -> tuple[tuple[Attack, int, float], ...]:
    """Return the attacks that the plan names, or all of them."""
    return tuple(each for each in HOSTILE if not plan.attacks or each[0].__name__ in plan.attacks)


def well_behaved(plan: NeighbourPlan) -> tuple[tuple[Attack, int, float], ...]:
    """Hold chats of ordinary turns without a pause: as much work as the scheduler's share for one tenant."""

    async def turn(guest: Guest) -> None:
        question = guest.words(plan.neighbour_question_words)
        await guest.ask("turn", question, max_tokens=plan.neighbour_answer_tokens, ignore_eos=True)

    return ((turn, plan.neighbour_chats, 0.0),)


async def run_guest(
    url: str, key: str, model: str, kind: str, seconds: float, plan: NeighbourPlan, seed: str
) -> Counter[str]:
    """Behave as `kind` ("hostile" or "well-behaved") says for `seconds`; return the outcomes."""
    outcomes: Counter[str] = Counter()
    host, _, port = url.removeprefix("http://").partition(":")
    timeout = aiohttp.ClientTimeout(total=120)
    connector = aiohttp.TCPConnector(limit=0)
    headers = {"Authorization": f"Bearer {key}"}
    async with aiohttp.ClientSession(url, headers=headers, timeout=timeout, connector=connector) as session:
        tasks = []
        for attack, clients, pause in hostile(plan) if kind == "hostile" else well_behaved(plan):
            for number in range(clients):
                rng = random.Random(f"{seed}/{attack.__name__}/{number}")
                guest = Guest(session, host, int(port), key, rng, outcomes, model)
                tasks.append(asyncio.create_task(_repeat(attack, guest, pause)))
        await asyncio.sleep(seconds)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
    return outcomes


async def _repeat(attack: Attack, guest: Guest, pause: float) -> None:
    while True:
        await attack(guest)
        # The client shares the server's cores, so that even an attack without a pause gives way now and then.
        await asyncio.sleep(max(pause, 0.02))


def main() -> int:
    """Run one guest as the argument says, and print its outcomes as JSON."""
    given = json.loads(sys.argv[1])
    plan = NeighbourPlan(**given.pop("plan"))
    print(json.dumps(asyncio.run(run_guest(plan=plan, **given))))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
