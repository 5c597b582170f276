"""`python -m bench.agent_turns`: cost of two features that agents use, each as a ratio against its baseline.

- A grammar that sleeps (`tool_choice: auto`): tokens per second of streams with tools and without calls, against
  streams without tools after a prompt of the same length. At least 0.98.
- The first turn after a compaction: time to its first token, against the next turn of the same chat with as many new
  tokens. At most 1.2.

Each round measures both sides of a ratio, one after the other, and the next round in the other order. The ratio is the
median over the rounds, so a busy machine widens the spread and hardly moves the ratio. Returns 1 if a target is missed.
"""

import argparse
import asyncio
import tempfile
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

import aiohttp

from app.load.answer import Answer
from app.load.client import Generation, LoadClient, Message
from bench.ending import run_to_end
from bench.machine import describe_machine
from bench.report import RESULTS, Target, show_results
from bench.server import EbbServer, ServerSettings
from bench.stats import spread
from bench.workload import passage, question

FLAGS: Final = (
    *("--kv-memory", "512MiB", "--cpu-kv-memory", "1GiB", "--redis-url", "off", "--max-model-len", "4096"),
    "--no-speculation",
)
"""A summary has at most an eighth of the window. Drafts follow the texts, which differ between the two sides."""
LEAST_RATE: Final = 0.98
MOST_TTFT: Final = 1.2
ROUNDS: Final = 30
STREAMS: Final = (1, 8)
TURNS: Final = 4
"""Turns of a chat before its compaction."""
TURN_WORDS: Final = 120
ANSWER_TOKENS: Final = 48
NEW_WORDS: Final = 60
"""Words of the questions whose first tokens are compared."""
IDLE_SECONDS: Final = 0.5
"""Time without a request after which the prompt of the next turn is complete."""
AHEAD_SECONDS: Final = 60.0
MOST_APART: Final = 3
"""Tokens by which the work of two turns may differ."""
TOOLS: Final = [
    {
        "type": "function",
        "function": {
            "name": name,
            "description": passage(20, name),
            "parameters": {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]},
        },
    }
    for name in ("read_file", "write_file", "list_folder", "run_command")
]


class OtherWorkError(Exception):
    """Two sides of a ratio that would not have done the same work."""


@dataclass(frozen=True, slots=True)
class Pair:
    """Both sides of one round: tokens per second, or seconds to the first token."""

    measured: float
    baseline: float

    @property
    def ratio(self) -> float:
        """`measured` as a share of `baseline`."""
        return self.measured / self.baseline


@dataclass(frozen=True, slots=True)
class Rates:
    """Streams with tools against streams without tools."""

    client: LoadClient
    tokens: int

    async def pairs(self, streams: int, rounds: int) -> list[Pair]:
        """Measure `rounds` rounds of `streams` streams at once. Raise OtherWorkError."""
        plain = await self._padded_system()
        found = list[Pair]()
        for number in range(rounds):
            rates = dict[bool, float]()
            for has_tools in (True, False)[:: 1 if number % 2 else -1]:
                answers = await asyncio.gather(
                    *(self._answer(plain, number * streams + each, has_tools=has_tools) for each in range(streams))
                )
                rates[has_tools] = sum(rate_of(answer) for answer in answers)
            found.append(Pair(rates[True], rates[False]))
        return found

    async def _padded_system(self) -> int:
        """Return the number of words of a system prompt that takes as many tokens as the tools."""
        words = 0
        for _ in range(8):
            told, plain = [await self._answer(words, 0, has_tools=each) for each in (True, False)]
            if (lacking := told.prompt_tokens - plain.prompt_tokens) == 0:
                return words
            words += lacking
        raise OtherWorkError("no system prompt has as many tokens as the tools")

    async def _answer(self, words: int, seed: int, *, has_tools: bool) -> Answer:
        system = "Be kind." if has_tools else f"Be kind.{' tide' * words}"
        messages: list[Message] = [
            {"role": "system", "content": system},
            {"role": "user", "content": question(40, f"rates/{seed}")},
        ]
        extra = {"seed": seed, **({"tools": TOOLS, "tool_choice": "auto"} if has_tools else {})}
        answer = await self.client.chat(messages, Generation(self.tokens, temperature=0.8, extra=extra))
        if answer.finish_reason != "length":
            raise OtherWorkError(f"a stream ended with {answer.finish_reason}, and not at its limit")
        return answer


def rate_of(answer: Answer) -> float:
    """Return the tokens per second of a stream after its first text."""
    return (answer.tokens - 1) / (answer.text_times[-1] - answer.text_times[0])


@dataclass(slots=True)
class Compactions:
    """First turns after a compaction against the turns that follow them.

    fields: of every request.
    padding: words that a following question has more than the first one, so that both compute as many tokens.
    """

    server: EbbServer
    http: aiohttp.ClientSession
    fields: dict[str, Any]
    turns: int
    padding: int = 0

    async def pairs(self, rounds: int) -> list[Pair]:
        """Measure a separate chat for each round, after one that finds the padding. Raise OtherWorkError."""
        first, following = await self._round(0)
        self.padding = computed_in(first[1]) - computed_in(following[1])
        found = list[Pair]()
        for number in range(1, rounds + 1):
            first, following = await self._round(number)
            if abs(computed_in(first[1]) - computed_in(following[1])) > MOST_APART:
                raise OtherWorkError(f"{computed_in(first[1])} and {computed_in(following[1])} tokens were computed")
            found.append(Pair(first[0], following[0]))
        return found

    async def _round(self, number: int) -> tuple[tuple[float, dict[str, Any]], tuple[float, dict[str, Any]]]:
        last = None
        for turn in range(self.turns):
            asked = {"input": question(TURN_WORDS, f"compaction/{number}/{turn}"), "previous_response_id": last}
            last = (await self._post("/v1/responses", asked | {"max_output_tokens": ANSWER_TOKENS}))[1]["id"]
        window = (await self._post("/v1/responses/compact", {"previous_response_id": last}))[1]["output"]
        await self._until_ahead()
        said = [*window, self._question(f"{number}/first", NEW_WORDS)]
        first = await self._post("/v1/responses", {"input": said, "max_output_tokens": 1})
        said += [*first[1]["output"], self._question(f"{number}/following", NEW_WORDS + self.padding)]
        return first, await self._post("/v1/responses", {"input": said, "max_output_tokens": 1})

    def _question(self, seed: str, words: int) -> dict[str, str]:
        # Each word alone is a token of the default model.
        return {"role": "user", "content": passage(words, f"compaction/{seed}").lower().replace(".", "")}

    async def _post(self, path: str, body: dict[str, Any]) -> tuple[float, dict[str, Any]]:
        """Return the seconds until the answer has arrived, and the answer."""
        began = time.perf_counter()
        async with self.http.post(path, json=self.fields | body) as response:
            found = await response.json()
            if response.status != 200:
                raise OtherWorkError(f"{path}: {found}")
            return time.perf_counter() - began, found

    async def _until_ahead(self) -> None:
        """Wait until the prompt of the next turn was computed ahead. Raise OtherWorkError if it is not."""
        began = since = time.perf_counter()
        before = (await self.server.client.metrics())["ebb_prefilled_tokens_total"]
        while time.perf_counter() - since < IDLE_SECONDS:
            metrics = await self.server.client.metrics()
            if metrics["ebb_requests"] or metrics["ebb_prefilled_tokens_total"] == before:
                since = time.perf_counter()
            if since - began > AHEAD_SECONDS:
                raise OtherWorkError("the prompt after a compaction was not computed ahead")
            await asyncio.sleep(0.05)


def computed_in(response: dict[str, Any]) -> int:
    """Return the number of prompt tokens that a response computed."""
    return int(response["usage"]["kv"]["computed"])


@dataclass(frozen=True, slots=True)
class Row:
    """One ratio over all rounds, with its target."""

    what: str
    pairs: Sequence[Pair]
    bound: float
    at_least: bool

    @property
    def target(self) -> Target:
        """The target and the median ratio."""
        return Target(self.what, spread([pair.ratio for pair in self.pairs]).median, self.bound, self.at_least)


async def measure(flags: Sequence[str], root: Path, rounds: int, tokens: int) -> list[Row]:
    """Measure both features on a separate server. Raise ServerFailedError and OtherWorkError."""
    rows = list[Row]()
    async with (
        EbbServer(ServerSettings("agent-turns", (*FLAGS, *flags)), root) as server,
        aiohttp.ClientSession(server.base_url) as http,
    ):
        for streams in STREAMS:
            pairs = await Rates(server.client, tokens).pairs(streams, rounds)
            rows.append(Row(f"tokens per second with tools, {streams} at once", pairs, LEAST_RATE, at_least=True))
        fields = {"model": await server.client.model(), "instructions": passage(60, "instructions"), "temperature": 0}
        compacted = await Compactions(server, http, fields, TURNS).pairs(rounds)
        rows.append(Row("first token after a compaction", compacted, MOST_TTFT, at_least=False))
    return rows


def table(rows: Sequence[Row]) -> str:
    """Format the ratios as Markdown."""
    lines = [
        "| measured | rounds | median ratio | 10th to 90th percentile | target | |",
        "| --- | ---: | ---: | ---: | ---: | --- |",
    ]
    for row in rows:
        ratios, target = sorted(pair.ratio for pair in row.pairs), row.target
        low, high = ratios[len(ratios) // 10], ratios[-1 - len(ratios) // 10]
        bound = f"at {'least' if row.at_least else 'most'} {row.bound:g}"
        verdict = "met" if target.met else "missed"
        lines.append(
            f"| {row.what} | {len(ratios)} | {target.value:.3f} | {low:.2f} to {high:.2f} | {bound} | {verdict} |"
        )
    return "\n".join(lines) + "\n"


def main(argv: Sequence[str] | None = None) -> int:
    """Measure, print and write. Return 1 if a target is missed."""
    parser = argparse.ArgumentParser(prog="python -m bench.agent_turns", description=__doc__)
    parser.add_argument("--out", type=Path, default=RESULTS)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--tokens", type=int, default=256, help="tokens of each stream")
    parser.add_argument("flags", nargs="*", help="flags of `ebb serve`, after --")
    arguments = parser.parse_args(argv)
    with tempfile.TemporaryDirectory(prefix="ebb-agent-turns-", ignore_cleanup_errors=True) as root:
        rows = run_to_end(measure(arguments.flags, Path(root), arguments.rounds, arguments.tokens))
    result = {
        "measured_on": time.strftime("%Y-%m-%d"),
        "machine": asdict(describe_machine()),
        "rows": [asdict(row) | {"median_ratio": row.target.value, "met": row.target.met} for row in rows],
    }
    show_results(arguments.out, "agent_turns", result, table(rows))
    return 0 if all(row.target.met for row in rows) else 1


if __name__ == "__main__":
    raise SystemExit(main())
