"""`python -m bench.conversation_store`: time to list, search, open and write in a large store.

A database is filled with conversations of made-up words whose frequency falls with their rank, as in real text. A tenth
of the messages are in Chinese characters. Every figure measures the store's own calls, one after another.
"""

import argparse
import asyncio
import random
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path
from typing import Final

from app.domain.records import Conversation, Message, Role, new_id
from app.storage.imports import Imported
from app.storage.run_records import MessageEnd, RunRecord, TurnRows
from app.storage.store import Store
from bench.stats import Spread, spread

TARGET_MS: Final = 50.0
WORDS_PER_MESSAGE: Final = 120
VOCABULARY: Final = 20_000
BATCH: Final = 200
HAN_SHARE: Final = 0.1
TURNS: Final = 50


@dataclass(frozen=True, slots=True)
class Figure:
    """Duration of one kind of call.

    name: name of the call.
    milliseconds: duration of one call.
    found: number of results of the last call.
    has_target: whether TARGET_MS applies.
    """

    name: str
    milliseconds: Spread
    found: int
    has_target: bool = True


class Words:
    """Source of made-up texts, the same for the same seed."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        self.all = ["".join(self._random.choices("abcdefghijklmnoprstuvwy", k=self._random.randint(2, 11)))
                    for _ in range(VOCABULARY)]  # fmt: skip
        self._weights = list(accumulate(1 / rank for rank in range(1, VOCABULARY + 1)))

    def text(self) -> str:
        """Make the text of one message."""
        if self._random.random() < HAN_SHARE:
            return "".join(chr(0x4E00 + int(self._random.paretovariate(0.7)) % 5000) for _ in range(WORDS_PER_MESSAGE))
        return " ".join(self._random.choices(self.all, cum_weights=self._weights, k=WORDS_PER_MESSAGE))


async def measure(path: Path, *, conversations: int, messages: int, rounds: int) -> list[Figure]:
    """Fill a database at `path` and measure its calls."""
    words = Words(1)
    store = await Store.open(path)
    try:
        filling = await _fill(store, words, conversations, messages // conversations)
        return [
            filling,
            *[await _figure(name, rounds, call) for name, call in _calls(store, words)],
            Figure("write a turn", spread(await turn_times(store, TURNS)), TURNS, has_target=False),
        ]
    finally:
        await store.close()


def _calls(store: Store, words: Words) -> Iterator[tuple[str, Callable[[], Awaitable[int]]]]:
    async def first_page() -> int:
        return len((await store.conversations.page()).conversations)

    async def deep_page() -> int:
        middle = (False, 5e8, "conv_")
        return len((await store.conversations.page(after=middle)).conversations)

    async def opened() -> int:
        page = await store.conversations.page(limit=1)
        [conversation] = page.conversations
        num_messages = 0
        for ids in await store.messages.parts_of_path(conversation.head_id):
            part = await store.messages.some(ids)
            await store.tree.siblings(conversation.id, [message.parent_id for message in part])
            num_messages += len(part)
        return num_messages

    yield "list: first page of 100", first_page
    yield "list: a page in the middle", deep_page
    yield "open a conversation", opened
    common, rare = words.all[0], words.all[5000]
    for name, query in (
        ("search: a word of every message", common),
        ("search: a rare word", f"{rare} "),
        ("search: common and rare", f"{common} {rare} "),
        ("search: four common words", " ".join(words.all[:4])),
        ("search: two letters of a word", common[:2]),
        ("search: two Chinese characters", "\u4e01\u4e02"),
        ("search: a word of no message", "zzzzz"),
    ):
        yield name, _searching(store, query)


def _searching(store: Store, query: str) -> Callable[[], Awaitable[int]]:
    async def search() -> int:
        found = await store.search.messages(query, limit=21)
        return len(found) + len(await store.search.titles(query, limit=20))

    return search


async def _figure(name: str, rounds: int, call: Callable[[], Awaitable[int]]) -> Figure:
    times, found = list[float](), 0
    for _ in range(rounds):
        began = time.perf_counter()
        found = await call()
        times.append((time.perf_counter() - began) * 1e3)
    return Figure(name, spread(times), found)


async def turn_times(store: Store, count: int) -> list[float]:
    """Write questions and their answers, which enter the search index, and return the milliseconds of each turn."""
    times = list[float]()
    for index in range(count):
        conversation = await store.conversations.create({})
        question = _message(conversation.id, None, "user", f"question {index} " * 40)
        answer = _message(conversation.id, question.id, "assistant", "")
        began = time.perf_counter()
        run = RunRecord(id=answer.id, message_id=answer.id, kv_fingerprint="kv", prompt_ids=b"")
        await store.runs.begin(TurnRows(answer=answer, run=run, questions=(question,), title="question"))
        await store.runs.finish(
            MessageEnd(content="answer " * 120, status="complete", finish_reason="stop", token_ids=b"").of(answer)
        )
        times.append((time.perf_counter() - began) * 1e3)
    return times


async def _fill(store: Store, words: Words, conversations: int, length: int) -> Figure:
    times = list[float]()
    for start in range(0, conversations, BATCH):
        given = [conversation_of(words, start + index, length) for index in range(min(BATCH, conversations - start))]
        began = time.perf_counter()
        await store.imports.add(given, duplicates=True)
        times.append((time.perf_counter() - began) * 1e3 / (len(given) * length))
    return Figure("fill: one message", spread(times), conversations * length, has_target=False)


def conversation_of(words: Words, number: int, length: int) -> Imported:
    """Make the conversation of a number, with `length` messages."""
    conversation_id, messages = new_id("conv"), list[Message]()
    for index in range(length):
        role: Role = "assistant" if index % 2 else "user"
        messages.append(_message(conversation_id, messages[-1].id if messages else None, role, words.text()))
    at = number * 1e5
    title = words.text()[:60]
    return Imported(
        conversation_id,
        Conversation(
            id=conversation_id,
            title=title,
            head_id=messages[-1].id,
            system_prompt=None,
            params={},
            created_at=at,
            updated_at=at,
            title_source="model",
        ),
        messages,
    )


def _message(conversation_id: str, parent_id: str | None, role: Role, content: str) -> Message:
    return Message(
        id=new_id("msg"),
        conversation_id=conversation_id,
        parent_id=parent_id,
        role=role,
        content=content,
        status="complete",
        created_at=time.time(),
    )


def report(figures: Sequence[Figure]) -> Iterator[str]:
    """Yield the lines of the table."""
    yield f"{'milliseconds':34} {'median':>8} {'p95':>8} {'most':>8} {'found':>8}"
    for figure in figures:
        took = figure.milliseconds
        late = "  over the target" if figure.has_target and took.p95 > TARGET_MS else ""
        yield f"{figure.name:34} {took.median:8.2f} {took.p95:8.2f} {took.high:8.2f} {figure.found:8}{late}"
    yield f"target: {TARGET_MS:g} ms at the 95th percentile"


def main(argv: Sequence[str] | None = None) -> int:
    """Measure and print. Return 1 if a target is missed."""
    parser = argparse.ArgumentParser(prog="python -m bench.conversation_store", description=__doc__)
    parser.add_argument("--conversations", type=int, default=10_000)
    parser.add_argument("--messages", type=int, default=100_000)
    parser.add_argument("--rounds", type=int, default=30)
    chosen = parser.parse_args(argv)
    with tempfile.TemporaryDirectory(prefix="ebb-store-") as folder:
        path = Path(folder) / "conversations.db"
        figures = asyncio.run(
            measure(path, conversations=chosen.conversations, messages=chosen.messages, rounds=chosen.rounds)
        )
        size = path.stat().st_size
    print(f"{chosen.conversations:,} conversations, {chosen.messages:,} messages, {size / 1e6:,.0f} MB")
    print("\n".join(report(figures)))
    return 1 if any(figure.has_target and figure.milliseconds.p95 > TARGET_MS for figure in figures) else 0


if __name__ == "__main__":
    raise SystemExit(main())
