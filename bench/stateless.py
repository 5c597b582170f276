"""`python -m bench.stateless`: share of a chat that is recomputed when its client sends all of it each time.

Chats of several kinds run through OpenAI's own client, sampled at temperature 1, with every other turn streamed. A turn
can reuse full blocks that the previous turn computed and that the new prompt still contains. These are the previous
prompt, and its answer up to where the answer was cut. The server reports the tokens that were reused as
`cached_tokens`.

The table also shows the tokens that tokenizing everything again would share: the previous prompt, and the answer up to
the first token that differs.
"""

import argparse
import asyncio
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from itertools import cycle, islice
from pathlib import Path
from typing import Any, Final

import aiohttp
from openai import AsyncOpenAI

from app.config.settings import load_settings
from bench.ending import run_to_end
from bench.machine import describe_machine
from bench.report import RESULTS, write_results
from bench.server import EbbServer, ServerFailedError, ServerSettings
from bench.stateless_prompt import Making, measure_making
from bench.workload import passage
from engine.kv.block import common_prefix_len
from models.chat.format import ChatFormat, Message
from models.download.resolve import DEFAULT_MODEL, resolve_model
from models.tokenizers.tokenizer import Tokenizer

BLOCK: Final = 64
CHATS: Final = 200
TURNS: Final = 4
AT_ONCE: Final = 8
TARGET: Final = 0.98
FLAGS: Final = (
    ("--kv-memory", "512MiB", "--cpu-kv-memory", "1GiB", "--redis-memory", "1GiB", "--chat-titles", "first-words")
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Kind:
    """Kind of chat. Each chat begins with its own system prompt.

    fields: fields of the requests.
    questions: the user's messages, repeated as necessary.
    """

    name: str
    fields: Mapping[str, Any]
    questions: tuple[str, ...]


KINDS: Final = (
    Kind(
        "ends by itself",
        {"max_tokens": 200},
        ("What is a river?", "Why do they bend?", "Who lives there?", "Thank you. What is a lake?"),
    ),
    Kind(
        "cut by max_tokens",
        {"max_tokens": 70},
        ("Tell me a long story of a sailor.", "Go on.", "And then?", "How does it end?"),
    ),
    Kind(
        "cut by a stop string",
        {"max_tokens": 200, "stop": [". ", "ing"]},
        ("Describe a village in winter, please.", "And its houses?", "Who built them?", "And the church?"),
    ),
    Kind(
        "code",
        {"max_tokens": 120},
        (
            "Write a Python function that merges two sorted lists.",
            "def merge(a, b):\n    return sorted(a + b)\n\nIs this right?",
            "Now in C, with `int *` arguments.",
            "Add comments and a test.",
        ),
    ),
    Kind(
        "other scripts and emoji",
        {"max_tokens": 90},
        (
            "用中文介绍一下长江。",
            "Answer with emoji only: 🙂🌊🚢?",
            "Ответь по-русски: что такое море?",
            "été, naïve, Straße?",
        ),
    ),
)


@dataclass(frozen=True, slots=True)
class Turn:
    """Tokens of one turn, in full blocks.

    reusable: tokens that the turn could reuse (see the module).
    reused: tokens that it reused.
    again: tokens that tokenizing everything again would have shared.
    """

    kind: str
    reusable: int
    reused: int
    again: int


@dataclass(slots=True)
class Chat:
    """A client's view of a chat. `prompt` and `completion` are the token counts of the last turn."""

    kind: Kind
    number: int
    messages: list[Any] = field(default_factory=list)
    prompt: int = 0
    completion: int = 0


@dataclass(frozen=True, slots=True)
class Bench:
    """Server of the chats, and the chat format by which they are judged."""

    client: AsyncOpenAI
    http: aiohttp.ClientSession
    chat_format: ChatFormat

    async def run(self, chat: Chat, num_turns: int) -> list[Turn]:
        """Run all turns and return all but the first, which has nothing to reuse."""
        chat.messages.append({"role": "system", "content": passage(40, f"stateless/{chat.number}")})
        turns: list[Turn] = []
        for number, question in enumerate(islice(cycle(chat.kind.questions), num_turns)):
            chat.messages.append({"role": "user", "content": question})
            text, usage = await self._answer(chat, stream=number % 2 == 0)
            if number:
                cached = usage.prompt_tokens_details.cached_tokens
                turns.append(await self._judged(chat, usage.prompt_tokens, cached))
            chat.messages.append({"role": "assistant", "content": text})
            chat.prompt, chat.completion = usage.prompt_tokens, usage.completion_tokens
        return turns

    async def _answer(self, chat: Chat, *, stream: bool) -> tuple[str, Any]:
        seed = 1000 * chat.number + len(chat.messages)
        fields: dict[str, Any] = {"model": DEFAULT_MODEL, "temperature": 1.0, "seed": seed, **chat.kind.fields}
        if not stream:
            answer: Any = await self.client.chat.completions.create(messages=chat.messages, **fields)
            return answer.choices[0].message.content, answer.usage
        fields |= {"stream": True, "stream_options": {"include_usage": True}}
        chunks: list[Any] = [
            chunk async for chunk in await self.client.chat.completions.create(messages=chat.messages, **fields)
        ]
        return "".join(chunk.choices[0].delta.content or "" for chunk in chunks[:-1]), chunks[-1].usage

    async def _judged(self, chat: Chat, prompt: int, cached: int) -> Turn:
        messages = [Message(message["role"], message["content"]) for message in chat.messages]
        # Tokens after the last answer, including the token that ends its turn, whose KV is not kept.
        num_new = len(self.chat_format.extend([], messages))
        # The KV of the last token of an answer is never computed.
        reusable = _full(min(prompt - num_new, chat.prompt + chat.completion - 1))
        body = {"model": DEFAULT_MODEL, "messages": chat.messages}
        async with self.http.post("/tokenize", json=body) as response:
            exact = (await response.json())["tokens"]
        computed = self.chat_format.render(messages[:-2]) + exact[chat.prompt : len(exact) - num_new]
        again = _full(common_prefix_len(computed, self.chat_format.render(messages)))
        return Turn(chat.kind.name, reusable, min(_full(cached), reusable), min(again, reusable))


def _full(tokens: int) -> int:
    return tokens // BLOCK * BLOCK


@dataclass(frozen=True, slots=True)
class Row:
    """Sums over the turns of a kind, without first turns. Sizes are in tokens."""

    kind: str
    turns: int
    reusable: int
    reused: int
    again: int

    @classmethod
    def of(cls, kind: str, turns: Sequence[Turn]) -> "Row":
        """Sum up `turns`."""
        return cls(
            kind,
            len(turns),
            sum(turn.reusable for turn in turns),
            sum(turn.reused for turn in turns),
            sum(turn.again for turn in turns),
        )

    @property
    def ratio(self) -> float:
        """Share of the reusable tokens that were reused."""
        return self.reused / self.reusable

    @property
    def ratio_again(self) -> float:
        """The same share if everything were tokenized again."""
        return self.again / self.reusable


def table(rows: Sequence[Row], making: Making) -> str:
    """Format as Markdown. The last row is the total, to which the target applies."""
    lines = [
        "| answers | turns | reusable tokens | reused | | tokenised again |",
        "| --- | ---: | ---: | ---: | ---: | ---: |",
    ]
    lines += [
        f"| {row.kind} | {row.turns} | {row.reusable:,} | {row.reused:,} | {row.ratio:.2%} | {row.ratio_again:.2%} |"
        for row in rows
    ]
    verdict = "met" if rows[-1].ratio >= TARGET else "missed"
    return "\n".join([*lines, "", f"Target: at least {TARGET:.0%} of all: {verdict}.", "", making.sentence, ""])


async def measure(chats: int, turns: int, path: Path, state: Path) -> list[Row]:
    """Run `AT_ONCE` chats at a time on one server with its tiers. `path` is the model's folder."""
    room = asyncio.Semaphore(AT_ONCE)
    async with EbbServer(ServerSettings("stateless", FLAGS), state) as server:
        assert server.base_url is not None
        async with (
            AsyncOpenAI(base_url=f"{server.base_url}/v1", api_key="none", max_retries=0) as client,
            aiohttp.ClientSession(server.base_url) as http,
        ):
            bench = Bench(client, http, ChatFormat.load(path, Tokenizer.load(path)))

            async def run(number: int) -> list[Turn]:
                async with room:
                    found = await bench.run(Chat(KINDS[number % len(KINDS)], number), turns)
                    print(f"chat {number + 1} of {chats}", file=sys.stderr, flush=True)
                    return found

            found = [turn for each in await asyncio.gather(*map(run, range(chats))) for turn in each]
    rows = [Row.of(kind.name, [turn for turn in found if turn.kind == kind.name]) for kind in KINDS]
    return [*rows, Row.of("all", found)]


def main(argv: Sequence[str] | None = None) -> int:
    """Measure, print, and write stateless.json and stateless.md. Return 1 if the target is missed."""
    parser = argparse.ArgumentParser(prog="python -m bench.stateless", description=__doc__)
    parser.add_argument(
        "--chats", type=int, default=CHATS, help=f"number of chats, at least {len(KINDS)}: one of each kind"
    )
    parser.add_argument("--turns", type=int, default=TURNS, help="turns per chat, at least 2")
    parser.add_argument("--out", type=Path, default=RESULTS)
    arguments = parser.parse_args(argv)
    if arguments.chats < len(KINDS) or arguments.turns < 2:
        parser.error(f"--chats must be at least {len(KINDS)}, and --turns at least 2")
    try:
        with tempfile.TemporaryDirectory(prefix="ebb-stateless-", ignore_cleanup_errors=True) as state:
            model = resolve_model(DEFAULT_MODEL, load_settings({}).cache_dir, print)
            rows = run_to_end(measure(arguments.chats, arguments.turns, model, Path(state)))
            making = run_to_end(measure_making(model, Path(state)))
    except ServerFailedError as error:
        print(error, file=sys.stderr)
        return 1
    result = {
        "machine": asdict(describe_machine()),
        "chats": arguments.chats,
        "turns": arguments.turns,
        "making": asdict(making),
        "rows": [{**asdict(row), "ratio": row.ratio, "ratio_again": row.ratio_again} for row in rows],
    }
    write_results(arguments.out, "stateless", result, table(rows, making))
    print(table(rows, making), end="")
    return 0 if rows[-1].ratio >= TARGET else 1


if __name__ == "__main__":
    raise SystemExit(main())
