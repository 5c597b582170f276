"""Workloads for the comparison of policies: sessions of requests with token ids, for replicas and for the simulator."""

import gzip
import json
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

SCALE: Final = 32
"""Divisor of the lengths in the traces, so that most of their prompts fit the default model's window."""

LEAST_ANSWER: Final = 8
MOST_PAUSE: Final = 10.0
WINDOW: Final = 7_600
FIRST_ID, NUM_IDS = 1_000, 20_000


@dataclass(frozen=True, slots=True)
class Ask:
    """One request of a session.

    wait: seconds since the answer before it, or since the start.
    fresh: token ids of the prompt, or, with `continues`, what follows the former prompt and its answer.
    """

    wait: float
    fresh: Sequence[int]
    answer: int
    continues: bool = False


@dataclass(frozen=True, slots=True)
class Workload:
    """Sessions that run at the same time. Each asks one thing after the other.

    kv_share: KV memory of all replicas, as a share of the distinct tokens of the workload; 1.0 keeps everything.
    """

    name: str
    sessions: Sequence[Sequence[Ask]] = field(repr=False)
    kv_share: float = 1.0

    @property
    def num_requests(self) -> int:
        """Number of requests."""
        return sum(map(len, self.sessions))


def ids(draw: random.Random, count: int) -> list[int]:
    """Return random token ids."""
    return [FIRST_ID + draw.randrange(NUM_IDS) for _ in range(count)]


def chats(count: int, turns: int, seed: int = 1, *, pause: float = 0.5) -> Workload:
    """Return chats with a common system prompt, whose KV memory has room for a quarter of them."""
    draw = random.Random(seed)
    system = ids(draw, 128)
    sessions = []
    for _ in range(count):
        first = Ask(draw.random() * pause * count / 4, [*system, *ids(draw, draw.randint(150, 500))], 32)
        more = [
            Ask(draw.expovariate(1 / pause), ids(draw, draw.randint(20, 120)), 32, continues=True)
            for _ in range(turns - 1)
        ]
        sessions.append([first, *more])
    return Workload("chats", sessions, kv_share=0.25)


def prefix_repetition(count: int, seed: int = 2, *, prefixes: int = 8) -> Workload:
    """Return Ray's benchmark of prefix repetition: 512 shared and 128 own tokens."""
    return _shared("prefix repetition", count, 512, 128, prefixes, 4.0, seed)


def long_own(count: int, seed: int = 3) -> Workload:
    """Return 2,548 shared and 7,252 own tokens at a rate of 3, divided by 8: sgl-project/sglang#21199."""
    return _shared("mostly own", count, 2_548 // 8, 7_252 // 8, 1, 3.0, seed)


def long_shared(count: int, seed: int = 4) -> Workload:
    """Return 6,000 shared and 1,200 own tokens, divided by 4, from llm-d's benchmark."""
    return _shared("mostly shared", count, 6_000 // 4, 1_200 // 4, 4, 2.0, seed)


def hot_prefix(count: int, seed: int = 5) -> Workload:
    """Return one prefix that all requests share, with short questions."""
    return _shared("one hot prefix", count, 1_024, 32, 1, 8.0, seed)


def _shared(name: str, count: int, shared: int, own: int, prefixes: int, rate: float, seed: int) -> Workload:
    draw = random.Random(seed)
    heads = [ids(draw, shared) for _ in range(prefixes)]
    at, sessions = 0.0, []
    for _ in range(count):
        at += draw.expovariate(rate)
        sessions.append([Ask(at, [*draw.choice(heads), *ids(draw, own)], 16)])
    return Workload(name, sessions)


def agents(folder: Path, sessions: int, requests: int) -> Workload:
    """Return coding agents from the trace `agent.jsonl.gz`. Each block of 64 tokens becomes two here."""
    found = []
    for number, line in enumerate(_lines(folder / "agent.jsonl.gz")):
        if number == sessions:
            break
        known: list[int] = []
        asks: list[Ask] = []
        for each in line["requests"][:requests]:
            known = [*known[: each["keep"]], *each["new"]]
            prompt = [id_ for block in known for id_ in _ids_of(f"{line['id']}/{block}", 64 // SCALE)]
            if len(prompt) > WINDOW:
                break
            wait = min(MOST_PAUSE, each["think"] / SCALE)
            asks.append(Ask(wait, prompt, max(LEAST_ANSWER, each["output"] // SCALE)))
        if asks:
            found.append(asks)
    return Workload("agents", found)


def conversations(folder: Path, count: int) -> Workload:
    """Return the first requests of the trace `conversation.jsonl.gz`, at times divided by the scale of the lengths."""
    sessions = []
    for number, line in enumerate(_lines(folder / "conversation.jsonl.gz")):
        if number == count:
            break
        prompt = [id_ for block in line["hash_ids"] for id_ in _ids_of(str(block), 512 // SCALE)]
        answer = max(LEAST_ANSWER, line["output_length"] // SCALE)
        sessions.append([Ask(line["timestamp"] / 1e3, prompt[:WINDOW], answer)])
    return Workload("conversations", sessions)


def _ids_of(name: str, count: int) -> list[int]:
    """Return ids that depend on the name alone."""
    return ids(random.Random(name), count)


def _lines(path: Path) -> Iterator[dict[str, Any]]:
    with gzip.open(path, "rt") as file:
        for line in file:
            yield json.loads(line)


def workloads(traces: Path | None, size: float) -> Mapping[str, Callable[[], Workload]]:
    """Return the workloads by name, `size` times as long as usual. Without `traces` there are none of traces."""
    made: dict[str, Callable[[], Workload]] = {
        "chats": lambda: chats(_times(size, 48), 6),
        "prefix-repetition": lambda: prefix_repetition(_times(size, 120)),
        "mostly-own": lambda: long_own(_times(size, 60)),
        "mostly-shared": lambda: long_shared(_times(size, 80)),
        "hot-prefix": lambda: hot_prefix(_times(size, 120)),
    }
    if traces is not None:
        made["agents"] = lambda: agents(traces, _times(size, 16), 20)
        made["conversations"] = lambda: conversations(traces, _times(size, 200))
    return made


def _times(size: float, usual: int) -> int:
    return max(2, round(size * usual))
