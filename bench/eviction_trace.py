"""Traces of conversations, single calls and coding agents, drawn from a seed.

Thinking times and message lengths are log-normal, numbers of turns geometric. The mixes differ in the share of traffic
that never returns.
"""

import random
from collections.abc import Iterator
from dataclasses import dataclass
from math import log
from typing import Final, Literal

from cache_tiers.owners.block_key import BlockKey

BLOCK: Final = 64
HOURS: Final = 4
CHATS_PER_MINUTE: Final = 3.0

Kind = Literal["chat", "single call", "agent"]


@dataclass(frozen=True, slots=True)
class Mix:
    """Composition of the traffic.

    singles: calls without a follow-up, for each chat.
    templates: number of instructions shared by the single calls; 0 means that they share nothing.
    agents: sessions of coding agents, for each chat. All of them share their tools and instructions.
    """

    name: str
    singles: float
    templates: int
    agents: float = 0.0


MIXES: Final = (
    Mix("chats alone", 0.0, 0),
    Mix("chats and single calls", 4.0, 0),
    Mix("chats and calls that share 4 long instructions", 4.0, 4),
)


AGENTS: Final = Mix("chats, single calls and agents", 4.0, 0, agents=0.05)


@dataclass(frozen=True, slots=True)
class Ask:
    """One request.

    at: seconds since the start of the trace.
    num_prompt: number of the prompt's blocks.
    chain: keys of the blocks of prompt and answer.
    num_instructions: number of the prompt's first blocks that other clients' prompts have too.
    """

    at: float
    num_prompt: int
    chain: tuple[BlockKey, ...]
    kind: Kind = "chat"
    num_instructions: int = 0


def trace(mix: Mix, seed: int) -> list[Ask]:
    """Return all requests of the trace, in order of time."""
    source, asks = random.Random(seed), list[Ask]()
    for number, at in enumerate(_arrivals(source, CHATS_PER_MINUTE)):
        asks += _chat(source, f"chat/{seed}/{number}", at)
    for number, at in enumerate(_arrivals(source, CHATS_PER_MINUTE * mix.singles)):
        begin = source.randrange(mix.templates) if mix.templates else None
        asks.append(_single(source, f"single/{seed}/{number}", begin, at))
    for number, at in enumerate(_arrivals(source, CHATS_PER_MINUTE * mix.agents)):
        asks += _session(source, f"agent/{seed}/{number}", at)
    return sorted(asks, key=lambda ask: ask.at)


def _arrivals(source: random.Random, per_minute: float) -> Iterator[float]:
    at = 0.0
    while per_minute and (at := at + source.expovariate(per_minute / 60)) < HOURS * 3600:
        yield at


def _chat(source: random.Random, name: str, at: float) -> Iterator[Ask]:
    """Yield the turns of one chat.

    The number of turns is geometric, with a mean of 4. Thinking time is log-normal: a minute in the median, sometimes
    an hour.
    """
    system = source.choices(("none", "short", "long"), (5, 3, 2))[0]
    keys = [_key(f"system/{system}", index) for index in range({"none": 0, "short": 3, "long": 16}[system])]
    tokens = len(keys) * BLOCK
    while True:
        prompt = tokens + round(source.lognormvariate(log(60), 1.1))
        tokens = prompt + round(source.lognormvariate(log(220), 0.8))
        keys += [_key(name, index) for index in range(len(keys), tokens // BLOCK)]
        yield Ask(at, prompt // BLOCK, tuple(keys))
        if source.random() < 0.25 or tokens > 8192:
            return
        at += source.lognormvariate(log(60), 1.4)


def _single(source: random.Random, name: str, template: int | None, at: float) -> Ask:
    keys = [] if template is None else [_key(f"template/{template}", index) for index in range(24)]
    prompt = len(keys) + round(source.lognormvariate(log(900), 0.9)) // BLOCK
    chain = keys + [_key(name, index) for index in range(len(keys), prompt + 2)]
    return Ask(at, prompt, tuple(chain), "single call", len(keys))


def _session(source: random.Random, name: str, at: float) -> Iterator[Ask]:
    """Yield the requests of a coding agent: a mean of 30, seconds apart, each with the result of a tool."""
    keys = [_key("tools", index) for index in range(48)]
    tokens = len(keys) * BLOCK
    while True:
        prompt = tokens + round(source.lognormvariate(log(150), 1.2))
        tokens = prompt + round(source.lognormvariate(log(60), 0.8))
        keys += [_key(name, index) for index in range(len(keys), tokens // BLOCK)]
        yield Ask(at, prompt // BLOCK, tuple(keys), "agent", 48)
        if source.random() < 1 / 30 or tokens > 32768:
            return
        at += source.lognormvariate(log(8), 1.2)


def _key(name: str, index: int) -> BlockKey:
    return BlockKey(f"{name}/{index}".encode())
