"""Causes of lost reuse that would take a long time to arise in a running server."""

from typing import Any

import pytest

from app.domain.records import Message
from app.prompts.earlier_prompts import Earlier, Known
from app.runs.reuse_report import reuse_report, stored_reuse
from cache_tiers.tier import BLOCK_TTL_SECONDS
from engine.api.outputs import KnownPrefix, Reuse
from engine.testing.byte_tokenizer import ByteTokenizer

NOW = 1_000_000_000.0
GONE = {"cause": "evicted", "detail": "no longer in Redis", "gone_from": ["device", "cpu", "redis"]}


def answer(reuse: dict[str, Any] | None, *, completion_tokens: int = 3) -> Message:
    """Build an answer to a prompt of 200 tokens."""
    kv = {"device": 0, "cpu": 0, "redis": 0, "computed": 200} | {"reuse": reuse}
    usage = {"prompt_tokens": 200, "completion_tokens": completion_tokens, "kv": kv}
    return Message(
        id="m",
        conversation_id="c",
        parent_id="q",
        role="assistant",
        content="",
        status="complete",
        created_at=NOW,
        usage=usage,
        run_id="run",
    )


def cause(message: Message, known: Known) -> str | None:
    earlier = Earlier(None, known, prompt_changed=False)
    report = reuse_report(message, earlier, None, ByteTokenizer(), block_size=64)
    assert report["explanation"].endswith(".")
    return report["cause"]


@pytest.mark.parametrize(
    ("unused_seconds", "expected"), [(BLOCK_TTL_SECONDS - 60, "evicted"), (BLOCK_TTL_SECONDS + 60, "expired")]
)
def test_prefix_unused_longer_than_redis_ttl_has_expired(unused_seconds: float, expected: str) -> None:
    message = answer({"until": 0, "known": 0, "end": GONE})
    assert cause(message, Known(150, 150, used_at=NOW - unused_seconds)) == expected


@pytest.mark.parametrize(
    ("earlier", "expected", "says"),
    [
        ("1234abcd", "computed_otherwise", "with the fingerprint 1234abcd"),
        ("", "computed_otherwise", "by an earlier version of Ebb"),
        ("5678abcd", "evicted", "no longer in Redis"),
        (None, "evicted", "no longer in Redis"),
    ],
)
def test_kv_of_other_bits_is_not_reported_as_evicted(earlier: str | None, expected: str, says: str) -> None:
    known = Known(192, 192, kv_fingerprint=earlier)
    for end in (GONE, None):
        message = answer({"until": 0, "known": 0, "end": end, "kv": "5678abcd"})
        report = reuse_report(message, Earlier(None, known, False), None, ByteTokenizer(), block_size=64)
        assert report["cause"] == expected
        assert says in report["explanation"] or end is None
    stored_by_an_earlier_version = answer({"until": 0, "known": 0, "end": GONE})
    assert cause(stored_by_an_earlier_version, known) == "evicted"


def test_record_names_the_kv_of_the_engine() -> None:
    assert stored_reuse(Reuse(64, KnownPrefix(66, (1, 2)), None), "0123456789abcdef")["kv"] == "01234567"


def test_partial_block_is_not_reported_as_lost() -> None:
    message = answer({"until": 128, "known": 128, "end": GONE})
    assert cause(message, Known(150, 150)) == "partial_block"
    assert cause(message, Known(128, 128)) == "never_seen"
    assert cause(message, Known(192, 192)) == "evicted"


def test_answer_that_never_ran_has_no_cause() -> None:
    assert cause(answer(None, completion_tokens=0), Known()) is None
    assert cause(answer(None), Known()) == "off"
    stored_by_an_earlier_version = answer(None)
    assert stored_by_an_earlier_version.usage is not None
    del stored_by_an_earlier_version.usage["kv"]["reuse"]
    assert cause(stored_by_an_earlier_version, Known()) is None


def test_running_answer_has_no_receipt_yet() -> None:
    running = Message(
        id="m",
        conversation_id="c",
        parent_id="q",
        role="assistant",
        content="",
        status="in_progress",
        created_at=NOW,
        run_id="run",
    )
    report = reuse_report(running, Earlier(None, Known(), False), None, ByteTokenizer(), block_size=64)
    assert (report["receipt"], report["cause"]) == (None, None)
    assert "not ended" in report["explanation"]
