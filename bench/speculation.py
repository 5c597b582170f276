"""`python -m bench.speculation`: gain of drafts where an answer copies its prompt, and their cost elsewhere.

Two servers that differ only by `--no-speculation` answer the same requests alternately, with the tiers off. A round's
ratio is that of tokens per second, from sending the first request of a load to the end of the last one. Even with two
identical servers, the one that was started first may be slower by a twentieth. So both are started twice, in either
order, and the result is the geometric mean of the medians of both halves. The first round of each half is a warm-up.
Each round has new tenants, because a tenant's later rounds would repeat phrases of the earlier ones.

An edit is the second turn of a chat about a text and changes a name in it. In the first turn, a model of this size does
not copy. The table says how much of the answers occurs in their prompts. Whether the name was changed is not judged.
"""

import argparse
import asyncio
import math
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

from app.load.answer import Answer
from app.load.client import Generation, LoadClient, Message
from bench import phrase_replay
from bench.ending import run_to_end
from bench.machine import describe_machine
from bench.report import RESULTS, show_results
from bench.server import EbbServer, ServerFailedError, ServerSettings
from bench.stats import median, share
from bench.tenant_keys import TenantKeys

ROUNDS: Final = 6
"""Rounds of each half."""
REPLAY_ROUNDS: Final = 2

TEXTS: Final = Path(__file__).with_name("quality_text")
EDITS: Final = (
    ("story", "Annika", "Helena"),
    ("essay", "moon", "Moon"),
    ("manual", "Marlow", "Harlow"),
    ("records", "Ines", "Vera"),
    ("code_other", "warehouse", "depot"),
    ("german", "Zug", "Wagen"),
    ("conversation", "sourdough", "bread"),
)
"""Edits: name of the text, the word to replace, and its replacement."""
EDITED_CHARACTERS: Final = 700
QUESTIONS: Final = (
    "Tell me about the history of Paris.",
    "How do I grow tomatoes on a balcony?",
    "Write a short story about a lighthouse.",
    "What is the difference between a virus and a bacterium?",
    "Explain how a bicycle stays upright.",
    "Which book would you recommend to a friend, and why?",
    "Plan a weekend in the mountains for four people.",
    "Why is the sky blue, and the evening red?",
)
FLAGS: Final = ("--redis-url", "off", "--cpu-kv-memory", "0", "--chat-titles", "first-words", "--kv-memory", "512MiB")
ARMS: Final = (
    ServerSettings("speculation", FLAGS),
    ServerSettings("no speculation", (*FLAGS, "--no-speculation")),
)


@dataclass(frozen=True, slots=True)
class Load:
    """Requests of a round, `streams` at once.

    least: target of the ratio.
    """

    name: str
    streams: int
    least: float
    requests: tuple[tuple[Sequence[Message], Generation], ...]


@dataclass(frozen=True, slots=True)
class Measured:
    """Answers of one arm to a load, and the seconds that they took together."""

    answers: tuple[Answer, ...]
    seconds: float

    @property
    def rate(self) -> float:
        """Tokens per second."""
        return sum(_tokens(answer) for answer in self.answers) / self.seconds


@dataclass(frozen=True, slots=True)
class Row:
    """Result of one load.

    plain, speculating: median tokens per second without and with speculation.
    ratio: geometric mean of the medians of both halves.
    lowest, highest: extremes of the ratio over the rounds.
    same: share of the answers that are equal in both arms.
    copied: share of an answer's runs of four words that its prompt contains.
    """

    load: str
    streams: int
    least: float
    plain: float
    speculating: float
    ratio: float
    lowest: float
    highest: float
    same: float
    copied: float

    @classmethod
    def of(cls, load: Load, halves: Sequence[Sequence[Mapping[str, Measured]]]) -> "Row":
        """Aggregate the halves: lists of rounds, each with the results by the arm's name."""
        ratios_of = [[_ratio(each) for each in half] for half in halves]
        ratios = [ratio for half in ratios_of for ratio in half]
        pairs = [tuple(each[arm.name] for arm in ARMS) for half in halves for each in half]
        answers = [both for one, other in pairs for both in zip(one.answers, other.answers, strict=True)]
        prompts = [" ".join(message["content"] for message in messages) for messages, _ in load.requests]
        return cls(
            load.name,
            load.streams,
            load.least,
            median([plain.rate for _, plain in pairs]),
            median([speculating.rate for speculating, _ in pairs]),
            math.prod(map(median, ratios_of)) ** (1 / len(ratios_of)),
            min(ratios),
            max(ratios),
            share([one.text == other.text for one, other in answers]),
            median([copied_share(*each) for each in zip(prompts, (a.text for a in pairs[0][0].answers), strict=True)]),
        )

    @property
    def met(self) -> bool:
        """Whether the ratio meets its target and all answers are equal."""
        return self.ratio >= self.least and self.same == 1


def _ratio(measured: Mapping[str, Measured]) -> float:
    speculating, plain = (measured[arm.name].rate for arm in ARMS)
    return speculating / plain


def copied_share(prompt: str, answer: str) -> float:
    """Return the share of the answer's runs of four words that the prompt contains."""
    there, said = set(_runs(prompt)), _runs(answer)
    return sum(run in there for run in said) / max(1, len(said))


def _runs(text: str) -> list[tuple[str, ...]]:
    words = text.split()
    return list(zip(words, words[1:], words[2:], words[3:], strict=False))


def _tokens(answer: Answer) -> int:
    assert answer.usage is not None
    return answer.usage.completion_tokens


def loads(edit_tokens: int, chat_tokens: int) -> tuple[Load, ...]:
    """List the loads.

    edit_tokens: maximal length of an edit.
    chat_tokens: exact length of an answer in free chat.
    """
    edits = [(_edit(*each), Generation(edit_tokens, ignore_eos=False)) for each in EDITS]
    chats = [
        ([_said("user", question)], Generation(chat_tokens, 0.8, extra={"seed": seed}))
        for seed, question in enumerate(QUESTIONS)
    ]
    return (
        Load("edit a text", 1, 1.8, tuple(edits)),
        Load("free chat", 1, 0.97, tuple(chats)),
        Load("free chat", len(QUESTIONS), 0.97, tuple(chats)),
    )


def _edit(name: str, old: str, new: str) -> list[Message]:
    text = (TEXTS / f"{name}.txt").read_text(encoding="utf-8")[:EDITED_CHARACTERS]
    return [
        _said("user", f"Correct the spelling of this text and change nothing else:\n\n{text}"),
        _said("assistant", text),
        _said("user", f"Write the text again, with {new} instead of {old}."),
    ]


def _said(role: str, text: str) -> Message:
    return {"role": role, "content": text}


async def ask(server: EbbServer, load: Load, key: str) -> Measured:
    """Send all requests of a load, `load.streams` at a time, as the tenant of `key`."""
    room = asyncio.Semaphore(load.streams)
    assert server.base_url is not None, "the server is not running"
    async with LoadClient(server.base_url, model=await server.client.model(), api_key=key) as client:

        async def one(messages: Sequence[Message], how: Generation) -> Answer:
            async with room:
                return await client.chat(messages, how)

        began = time.perf_counter()
        answers = await asyncio.gather(*(one(messages, how) for messages, how in load.requests))
        return Measured(tuple(answers), time.perf_counter() - began)


async def measure(measured_loads: Sequence[Load], rounds: int, root: Path) -> list[Row]:
    """Measure all loads in both halves, with `rounds` rounds each."""
    halves = [
        await _half(measured_loads, rounds, root / str(number), arms)
        for number, arms in enumerate((ARMS, ARMS[::-1]), start=1)
    ]
    return [Row.of(load, each) for load, each in zip(measured_loads, zip(*halves, strict=True), strict=True)]


async def _half(
    measured_loads: Sequence[Load], rounds: int, root: Path, arms: Sequence[ServerSettings]
) -> list[list[dict[str, Measured]]]:
    """Measure the rounds of each load on servers that are started in the order of `arms` and keep running.

    Servers alternate in answering first.
    """
    found: list[list[dict[str, Measured]]] = [[] for _ in measured_loads]
    async with AsyncExitStack() as stack:
        servers = [await stack.enter_async_context(EbbServer(arm, root / arm.name)) for arm in arms]
        makers = {server.settings.name: TenantKeys(server.base_url or "") for server in servers}
        for number in range(rounds + 1):
            print(f"{arms[0].name} first, round {number} of {rounds}", file=sys.stderr, flush=True)
            names = [f"{load.name} {load.streams} {number}".replace(" ", "-") for load in measured_loads]
            keys = {arm: await maker.make(names) for arm, maker in makers.items()}
            for at, (load, results) in enumerate(zip(measured_loads, found, strict=True)):
                order = servers if number % 2 else servers[::-1]
                results.append(
                    {arm: await ask(server, load, keys[arm][at]) for server in order for arm in [server.settings.name]}
                )
    return [results[1:] for results in found]


async def _replayed(replays: Sequence[phrase_replay.Replay], rounds: int, root: Path) -> list[phrase_replay.ReplayRow]:
    async with EbbServer(ARMS[0], root / "replays") as server:
        return await phrase_replay.measure(server, replays, rounds)


def table(rows: Sequence[Row]) -> str:
    """Format the rows as Markdown."""
    lines = [
        "| load | streams | tok/s without | with | ratio | rounds | target | | same answers | copied |",
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: | --- | ---: | ---: |",
    ]
    lines += [
        f"| {row.load} | {row.streams} | {row.plain:.0f} | {row.speculating:.0f} | {row.ratio:.2f} | "
        f"{row.lowest:.2f} to {row.highest:.2f} | {row.least:.2f} | {'met' if row.met else 'missed'} | "
        f"{row.same:.0%} | {row.copied:.0%} |"
        for row in rows
    ]
    return "\n".join([*lines, ""])


def main(argv: Sequence[str] | None = None) -> int:
    """Measure, print, and write speculation.json and speculation.md. Return 1 if a target is missed."""
    parser = argparse.ArgumentParser(prog="python -m bench.speculation", description=__doc__)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--quick", action="store_true", help="run a small size, which only checks that it works")
    parser.add_argument("--out", type=Path, default=RESULTS)
    arguments = parser.parse_args(argv)
    rounds, sizes = (1, (48, 24)) if arguments.quick else (arguments.rounds, (320, 200))
    replays = phrase_replay.replays(*((6, 24) if arguments.quick else (200, 100)))
    if rounds < 1:
        parser.error("--rounds must be at least 1")
    try:
        with tempfile.TemporaryDirectory(prefix="ebb-speculation-", ignore_cleanup_errors=True) as root:
            rows = run_to_end(measure(loads(*sizes), rounds, Path(root)))
            replayed = run_to_end(_replayed(replays, 1 if arguments.quick else REPLAY_ROUNDS, Path(root)))
    except ServerFailedError as error:
        print(error, file=sys.stderr)
        return 1
    result = {
        "machine": asdict(describe_machine()),
        "rounds": rounds,
        "rows": [asdict(row) | {"met": row.met} for row in rows],
        "replays": [asdict(row) | {"met": row.met} for row in replayed],
    }
    show_results(arguments.out, "speculation", result, f"{table(rows)}\n{phrase_replay.table(replayed)}")
    return 0 if all(row.met for row in rows) and all(row.met for row in replayed) else 1


if __name__ == "__main__":
    raise SystemExit(main())
