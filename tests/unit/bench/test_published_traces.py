"""Published traces as requests, and the memory that holds some minutes of them."""

import gzip
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bench.eviction import used_within
from bench.eviction_trace import Ask
from bench.published_traces import agents, conversations
from cache_tiers.owners.block_key import BlockKey


def write(file: Path, lines: Sequence[dict[str, Any]]) -> None:
    with gzip.open(file, "wt") as opened:
        opened.writelines(json.dumps(line) + "\n" for line in lines)


def test_request_of_agent_keeps_beginning_of_the_one_before(tmp_path: Path) -> None:
    requests = [
        {"think": 0.0, "api": 2.0, "keep": 0, "new": [1, 2, 3]},
        {"think": 5.0, "api": None, "keep": 2, "new": [4]},
    ]
    write(tmp_path / "agent.jsonl.gz", [{"id": "a", "requests": requests}, {"id": "b", "requests": requests[:1]}])
    asks = agents(tmp_path)
    assert [ask.at for ask in asks] == sorted(ask.at for ask in asks)
    first, second = (ask for ask in asks if ask.chain[0] == b"a/1")
    assert (first.chain, second.chain) == ((b"a/1", b"a/2", b"a/3"), (b"a/1", b"a/2", b"a/4"))
    assert second.at - first.at == 7
    # Names of blocks count within a session.
    assert {ask.chain[0] for ask in asks} == {b"a/1", b"b/1"}


def test_block_of_a_conversation_has_eight_of_ours(tmp_path: Path) -> None:
    write(tmp_path / "conversation.jsonl.gz", [{"timestamp": 1500, "hash_ids": [7, 8]}])
    (ask,) = conversations(tmp_path)
    assert (ask.at, ask.num_prompt, ask.chain[7], ask.chain[8]) == (1.5, 16, b"7/7", b"8/0")


def test_memory_of_minutes_has_the_most_blocks_used_in_them() -> None:
    def ask(at: float, *names: bytes) -> Ask:
        return Ask(at, len(names), tuple(map(BlockKey, names)))

    asks = [ask(0, b"a", b"b"), ask(50, b"a", b"c"), ask(120, b"d"), ask(500, b"e")]
    assert used_within(60, asks) == 3
    assert used_within(100, asks) == 3
    assert used_within(130, asks) == 4
    assert used_within(0, asks) == 2
