"""`python -m bench.flood`: what a flood of one tenant's prompts costs another tenant's prefix hits.

A well-behaved tenant has a few chats. While they are idle, another tenant sends hundreds of long prompts that share
nothing, far more than device and CPU memory hold. Then each chat takes a turn. The share of cached prompt tokens is
compared with that of a turn without a flood before it. One server has no Redis; another has a Redis with room for
everything, and there the flood's own prompts are sent again, and no full block of them may be computed. Blocks that
are computed again are counted by cause; the only cause allowed is that loading them costs more than computing them.

Tokens are counted, so the machine may be busy. The model is a small one with random weights: its blocks are small.
"""

import argparse
import asyncio
import tempfile
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

import aiohttp
from prometheus_client.parser import text_string_to_metric_families

from app.load.answer import Answer
from app.load.client import Generation, LoadClient
from bench.ending import run_to_end
from bench.machine import describe_machine
from bench.report import RESULTS, write_results
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
MAX_POINTS: Final = 5.0
SETTLE_SECONDS: Final = 120.0
LAYERS: Final = 4
HIDDEN: Final = 512
BLOCK_BYTES: Final = LAYERS * 2 * BLOCK * BLOCK * 2
"""Keys and values of 64 tokens: one head of 64 numbers in bfloat16, in each layer."""
DEVICE_BLOCKS: Final = 384
CPU_BLOCKS: Final = 3 * DEVICE_BLOCKS
"""Default size: the device holds three windows of 8,192 tokens, and CPU memory three times as much."""
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
ENDS: Final = "ebb_reuse_ends_total"
ALLOWED: Final = "not_worth_loading"
"""The cause of computing a block again that the cost model allows."""


@dataclass(frozen=True, slots=True)
class Turns:
    """Prompt tokens of some requests, by where their KV came from."""

    prompt: int
    device: int
    cpu: int
    redis: int

    @classmethod
    def of(cls, answers: Sequence[Answer]) -> "Turns":
        """Sum up the receipts of the answers."""
        tiers = [answer.tier_tokens() for answer in answers]
        return cls(
            sum(answer.prompt_tokens for answer in answers),
            sum(each.reused["device"] for each in tiers),
            sum(each.reused["cpu"] for each in tiers),
            sum(each.reused["redis"] for each in tiers),
        )

    @property
    def hits(self) -> float:
        """The cached share of the prompt tokens, in percent."""
        return 100 * (self.device + self.cpu + self.redis) / self.prompt


@dataclass(frozen=True, slots=True)
class Losses:
    """Blocks of the flood that did not reach the next tier, since the server began.

    device: evicted before they were copied to CPU memory.
    cpu: evicted from CPU memory before Redis had them.
    shed: not written because too many waited for Redis; they may be written later.
    """

    device: int
    cpu: int
    shed: int


@dataclass(frozen=True, slots=True)
class Again:
    """The first prompts of the flood, asked once more. recomputed: full blocks that were computed again, by cause."""

    turns: Turns
    recomputed: Mapping[str, int]

    @property
    def num_lost(self) -> int:
        """Recomputed blocks that Redis had room for, and that were worth loading."""
        return sum(count for cause, count in self.recomputed.items() if cause != ALLOWED)


@dataclass(frozen=True, slots=True)
class Row:
    """One server. again: None where nothing has room for the flood's prompts."""

    arm: str
    alone: Turns
    flooded: Turns
    losses: Losses
    again: Again | None

    @property
    def points_lost(self) -> float:
        """Percentage points by which the flood lowered the chats' hits."""
        return self.alone.hits - self.flooded.hits

    @property
    def is_met(self) -> bool:
        """Whether the chats lost little and, with Redis, no block of the flood was lost."""
        return self.points_lost <= MAX_POINTS and (self.again is None or self.again.num_lost == 0)


def chat_prompt(chat: int, turn: int) -> list[int]:
    """Return the prompt of a turn: the fixed beginning of the chat, and a question that differs in each turn."""
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
        losses = await count_losses(url, operator)
        flooded = await take_turns(quiet, 3)
        again = await ask_again(flood, operator, asked[:ASKED_AGAIN]) if arm == "with Redis" else None
    return Row(arm, alone, flooded, losses, again)


async def ask_again(flood: LoadClient, operator: str, prompts: Sequence[Sequence[int]]) -> Again:
    """Ask one prompt after the other, and attribute the blocks that it computes to the cause that the server counts."""
    answers, recomputed = [], Counter[str]()
    before = await read_metrics(flood.base_url, operator)
    for prompt in prompts:
        answers.append(await flood.complete(prompt, ONE_TOKEN))
        after = await read_metrics(flood.base_url, operator)
        tiers = answers[-1].tier_tokens()
        blocks = FLOOD_TOKENS // BLOCK - (tiers.reused["device"] + tiers.reused["cpu"] + tiers.reused["redis"]) // BLOCK
        if blocks > 0:
            ends = [labels for (name, labels), count in (after - before).items() if name == ENDS and count]
            recomputed[ends[0] if len(ends) == 1 else "unknown"] += blocks
        before = after
    return Again(Turns.of(answers), dict(recomputed))


async def count_losses(url: str, operator: str) -> Losses:
    """Read the server's counts of blocks that did not reach the next tier."""
    metrics = await read_metrics(url, operator)
    lost = "ebb_tier_lost_blocks_total"
    return Losses(metrics[lost, "device"], metrics[lost, "cpu"], metrics["ebb_redis_shed_blocks_total", ""])


async def read_metrics(url: str, operator: str) -> Counter[tuple[str, str]]:
    """Read the samples of /metrics that have one label at most, by their names and labels."""
    headers = {"Authorization": f"Bearer {operator}"}
    async with aiohttp.ClientSession() as session, session.get(f"{url}/metrics", headers=headers) as response:
        response.raise_for_status()
        families = text_string_to_metric_families(await response.text())
    return Counter(
        {
            (sample.name, "".join(sample.labels.values())): int(sample.value)
            for family in families
            if family.type == "counter"
            for sample in family.samples
            if len(sample.labels) <= 1
        }
    )


async def take_turns(client: LoadClient, turn: int) -> Turns:
    """Take every chat one turn further."""
    return Turns.of([await client.complete(chat_prompt(chat, turn), ONE_TOKEN) for chat in range(CHATS)])


async def idle(url: str, operator: str) -> None:
    """Wait until every computed block is in every tier."""
    async with LoadClient(url, api_key=operator) as client:
        if not await settle_client(client, SETTLE_SECONDS):
            raise TimeoutError("the tiers did not settle")


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
        "| tiers | hits without a flood | hits after it | points lost | flood repeated: hits | blocks lost | "
        "not worth loading | |",
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: | --- |",
    ]
    for row in rows:
        again = f"{row.again.turns.hits:.1f} %" if row.again is not None else "–"
        lost = str(row.again.num_lost) if row.again is not None else "–"
        dearer = str(row.again.recomputed.get(ALLOWED, 0)) if row.again is not None else "–"
        verdict = "met" if row.is_met else "missed"
        lines.append(
            f"| {row.arm} | {row.alone.hits:.1f} % | {row.flooded.hits:.1f} % | {row.points_lost:.1f} | {again} "
            f"| {lost} | {dearer} | at most {MAX_POINTS:g} points: {verdict} |"
        )
    for row in rows:
        lines += ["", f"{row.arm}: {causes(row)}"]
    return "\n".join(lines) + "\n"


def causes(row: Row) -> str:
    """Describe in a sentence where blocks were lost and why full blocks were computed again."""
    losses = row.losses
    sentence = f"{losses.device} blocks left the device before they were copied down"
    if row.again is not None:
        of_redis = f", {losses.cpu} left CPU memory before Redis had them, {losses.shed} writes were shed"
        again = ", ".join(f"{n} {cause}" for cause, n in row.again.recomputed.items())
        full = ASKED_AGAIN * (FLOOD_TOKENS // BLOCK)
        sentence += f"{of_redis}; of the {full} full blocks requested again, these were recomputed: {again or 'none'}"
    return f"{sentence}."


def write(rows: Sequence[Row], prompts: int, out: Path) -> None:
    """Write flood.json and flood.md."""
    result = {"machine": asdict(describe_machine()), "prompts": prompts, "rows": [asdict(row) for row in rows]}
    write_results(out, "flood", result, table(rows, prompts))


async def run(root: Path, prompts: int) -> list[Row]:
    """Measure all arms, each on a separate server."""
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
    parser.add_argument("--prompts", type=int, default=FLOOD_PROMPTS, help="number of prompts in the flood")
    parser.add_argument("--out", type=Path, default=RESULTS)
    arguments = parser.parse_args(argv)
    with tempfile.TemporaryDirectory(prefix="ebb-flood-") as root:
        rows = run_to_end(run(Path(root), arguments.prompts))
    write(rows, arguments.prompts, arguments.out)
    print(table(rows, arguments.prompts), end="")
    return 0 if all(row.is_met for row in rows) else 1


if __name__ == "__main__":
    raise SystemExit(main())
