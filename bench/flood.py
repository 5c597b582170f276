"""`python -m bench.flood`: what a flood of one tenant's prompts costs another tenant's prefix hits.

A well-behaved tenant has a few chats. While they are idle, another tenant sends hundreds of long prompts that share
nothing, far more than device and CPU memory hold. Then each chat takes a turn. The share of cached prompt tokens is
compared with that of a turn without a flood before it. One server has no Redis; another has a Redis with room for
everything, and there the flood's own prompts are sent again, and no full block of them may be computed.

Tokens are counted, so the machine may be busy. The model is a small one with random weights: its blocks are small.
"""

import argparse
import asyncio
import json
import tempfile
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

import aiohttp

from app.load.answer import Answer
from app.load.client import Generation, LoadClient
from bench.machine import describe_machine
from bench.server import EbbServer, ServerSettings, settle_client
from tests.tiny_models import make_tiny_model

BLOCK: Final = 64
CHATS: Final = 4
CHAT_TOKENS: Final = 1350
TURN_TOKENS: Final = 150
FLOOD_PROMPTS: Final = 500
FLOOD_TOKENS: Final = 1500
FLOOD_AT_ONCE: Final = 8
ASKED_AGAIN: Final = 50
MOST_POINTS: Final = 5.0
SETTLE_SECONDS: Final = 120.0
LAYERS: Final = 4
HIDDEN: Final = 512
BLOCK_BYTES: Final = LAYERS * 2 * BLOCK * BLOCK * 2
"""Keys and values of 64 tokens: one head of 64 numbers in bfloat16, in each layer."""
DEVICE_BLOCKS: Final = 384
CPU_BLOCKS: Final = 3 * DEVICE_BLOCKS
"""As by default: the device holds three windows of 8,192 tokens, and CPU memory three times as much."""
MEMORY: Final = (
    "--kv-memory",
    f"{DEVICE_BLOCKS * BLOCK_BYTES >> 20}MiB",
    "--cpu-kv-memory",
    f"{CPU_BLOCKS * BLOCK_BYTES >> 20}MiB",
)
ARMS: Final = {
    "device and CPU memory": (*MEMORY, "--redis-url", "off"),
    "with Redis": (*MEMORY, "--redis-memory", "4GiB"),
}
ONE_TOKEN: Final = Generation(1)


@dataclass(frozen=True, slots=True)
class Turns:
    """Prompt tokens of some requests, by where their KV came from."""

    prompt: int
    device: int
    cpu: int
    redis: int

    @classmethod
    def of(cls, answers: Sequence[Answer]) -> "Turns":
        """Add up what the answers' receipts say."""
        tiers = [answer.tier_tokens() for answer in answers]
        return cls(
            sum(answer.prompt_tokens for answer in answers),
            sum(each.device for each in tiers),
            sum(each.cpu for each in tiers),
            sum(each.redis for each in tiers),
        )

    @property
    def hits(self) -> float:
        """The cached share of the prompt tokens, in percent."""
        return 100 * (self.device + self.cpu + self.redis) / self.prompt


@dataclass(frozen=True, slots=True)
class Row:
    """One server. again: the last prompts of the flood, asked once more; None where nothing has room for them."""

    arm: str
    alone: Turns
    flooded: Turns
    again: Turns | None

    @property
    def points_lost(self) -> float:
        """By how many percent points the flood lowered the chats' hits."""
        return self.alone.hits - self.flooded.hits

    @property
    def is_met(self) -> bool:
        """Whether the chats lost little and, with Redis, no full block of the flood was computed again."""
        full = FLOOD_TOKENS // BLOCK * BLOCK / FLOOD_TOKENS * 100
        return self.points_lost <= MOST_POINTS and (self.again is None or self.again.hits >= full - 1e-9)


def chat_prompt(chat: int, turn: int) -> list[int]:
    """Return the prompt of a turn: what the chat always begins with, and a question that differs in each turn."""
    return [*_tokens(CHAT_TOKENS, f"chat {chat}"), *_tokens(TURN_TOKENS, f"chat {chat}, turn {turn}")]


def _tokens(count: int, name: str) -> list[int]:
    """Make up ids of bytes that begin with `name`, so that no two names have a block in common."""
    head = [3 + byte for byte in name.encode()]
    return (head + [3 + at * 7 % 250 for at in range(count)])[:count]


async def measure(server: EbbServer, arm: str, prompts: int) -> Row:
    """Flood one server with `prompts` prompts."""
    url = server.client.base_url
    operator, quiet_key, flood_key = await make_keys(url, ("operator", "quiet", "flood"))
    async with (
        LoadClient(url, api_key=quiet_key, concurrency=1) as quiet,
        LoadClient(url, api_key=flood_key, concurrency=FLOOD_AT_ONCE) as flood,
    ):
        await take_turns(quiet, 1)
        await idle(url, operator)
        alone = await take_turns(quiet, 2)
        await idle(url, operator)
        asked = [_tokens(FLOOD_TOKENS, f"flood {number}") for number in range(prompts)]
        await asyncio.gather(*(flood.complete(prompt, ONE_TOKEN) for prompt in asked))
        await idle(url, operator)
        flooded = await take_turns(quiet, 3)
        again = None
        if arm == "with Redis":
            again = Turns.of([await flood.complete(prompt, ONE_TOKEN) for prompt in asked[:ASKED_AGAIN]])
    return Row(arm, alone, flooded, again)


async def take_turns(client: LoadClient, turn: int) -> Turns:
    """Take every chat one turn further."""
    return Turns.of([await client.complete(chat_prompt(chat, turn), ONE_TOKEN) for chat in range(CHATS)])


async def idle(url: str, operator: str) -> None:
    """Wait until all that was computed is in every tier."""
    async with LoadClient(url, api_key=operator) as client:
        if not await settle_client(client, SETTLE_SECONDS):
            raise TimeoutError("the tiers did not come to rest")


async def make_keys(url: str, tenants: Sequence[str]) -> list[str]:
    """Make a key for each tenant; the first one is an administrator's, since that closes the server."""
    keys: list[str] = []
    async with aiohttp.ClientSession(url) as session:
        for name in tenants:
            headers = {"Authorization": f"Bearer {keys[0]}"} if keys else {}
            body = {"name": name, "tenant": name, "scope": "user" if keys else "admin"}
            async with session.post("/api/admin/keys", json=body, headers=headers) as response:
                response.raise_for_status()
                keys.append(str((await response.json())["key"]))
    return keys


def table(rows: Sequence[Row], prompts: int) -> str:
    """Write the rows as Markdown."""
    lines = [
        f"{CHATS} idle chats of one tenant, {prompts} prompts of {FLOOD_TOKENS} tokens of another. Hits are the cached "
        f"prompt tokens of the chats' next turn. The device holds {DEVICE_BLOCKS * BLOCK} tokens, CPU memory "
        f"{CPU_BLOCKS * BLOCK}.",
        "",
        "| tiers | hits without a flood | hits after it | points lost | flood asked again: hits | |",
        "| --- | ---: | ---: | ---: | ---: | --- |",
    ]
    for row in rows:
        again = f"{row.again.hits:.1f} %" if row.again is not None else "–"
        verdict = "met" if row.is_met else "missed"
        lines.append(
            f"| {row.arm} | {row.alone.hits:.1f} % | {row.flooded.hits:.1f} % | {row.points_lost:.1f} | {again} "
            f"| at most {MOST_POINTS:g} points: {verdict} |"
        )
    return "\n".join(lines) + "\n"


def write(rows: Sequence[Row], prompts: int, out: Path) -> None:
    """Write flood.json and flood.md."""
    out.mkdir(parents=True, exist_ok=True)
    result = {"machine": asdict(describe_machine()), "prompts": prompts, "rows": [asdict(row) for row in rows]}
    (out / "flood.json").write_text(json.dumps(result, indent=1) + "\n")
    (out / "flood.md").write_text(table(rows, prompts))


async def run(root: Path, prompts: int) -> list[Row]:
    """Measure all arms, each on a server of its own."""
    model = make_tiny_model(
        root / "model", layers=LAYERS, hidden=HIDDEN, heads=HIDDEN // 64, kv_heads=1, max_positions=8192
    )
    rows = []
    for number, (arm, flags) in enumerate(ARMS.items()):
        settings = ServerSettings(arm, ("--model", str(model), *flags))
        async with EbbServer(settings, root / f"state{number}") as server:
            rows.append(await measure(server, arm, prompts))
    return rows


def main(argv: Sequence[str] | None = None) -> int:
    """Measure, print and write. Returns 1 if a target is missed."""
    parser = argparse.ArgumentParser(prog="python -m bench.flood", description=__doc__)
    parser.add_argument("--prompts", type=int, default=FLOOD_PROMPTS, help="prompts of the flood")
    parser.add_argument("--out", type=Path, default=Path("bench/results"))
    arguments = parser.parse_args(argv)
    with tempfile.TemporaryDirectory(prefix="ebb-flood-") as root:
        rows = asyncio.run(run(Path(root), arguments.prompts))
    write(rows, arguments.prompts, arguments.out)
    print(table(rows, arguments.prompts), end="")
    return 0 if all(row.is_met for row in rows) else 1


if __name__ == "__main__":
    raise SystemExit(main())
