"""Published traces of requests, as requests of `bench.eviction`: coding agents, and conversations.

Each is a file of JSON lines, compressed by gzip:

- `agent.jsonl.gz` has a session on each line (https://github.com/callanjfox/kv-cache-tester): `id` and `requests`. A
  request has the seconds `think` before it and `api` that it took, and its blocks of 64 tokens as a change of those of
  the request before: the first `keep` of them, and then `new`. Names of blocks count within a session.
- `conversation.jsonl.gz` has a request on each line (https://github.com/kvcache-ai/Mooncake): `timestamp` in
  milliseconds, and `hash_ids` of its blocks of 512 tokens.
"""

import gzip
import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from bench.eviction_trace import BLOCK, Ask
from cache_tiers.owners.block_key import BlockKey

CONVERSATION_BLOCK: Final = 512


def agents(folder: Path) -> list[Ask]:
    """Return the requests of coding agents, whose sessions begin within four hours."""
    source, asks = random.Random(1), list[Ask]()
    for session in _lines(folder / "agent.jsonl.gz"):
        at, known = source.uniform(0, 4 * 3600), list[bytes]()
        for each in session["requests"]:
            known = [*known[: each["keep"]], *(f"{session['id']}/{block}".encode() for block in each["new"])]
            at += each["think"]
            asks.append(Ask(at, len(known), tuple(map(BlockKey, known)), "agent"))
            at += each["api"] or 0.0
    return sorted(asks, key=lambda ask: ask.at)


def conversations(folder: Path) -> list[Ask]:
    """Return the requests of conversations, in their order."""
    asks = []
    for each in _lines(folder / "conversation.jsonl.gz"):
        parts = range(CONVERSATION_BLOCK // BLOCK)
        names = [BlockKey(f"{block}/{part}".encode()) for block in each["hash_ids"] for part in parts]
        asks.append(Ask(each["timestamp"] / 1e3, len(names), tuple(names)))
    return asks


def _lines(path: Path) -> Iterator[dict[str, Any]]:
    with gzip.open(path, "rt") as file:
        yield from map(json.loads, file)
