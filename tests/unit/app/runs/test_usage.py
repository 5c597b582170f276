"""The KV receipt as clients get it, for one prompt and for several."""

import re
from collections import Counter
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

from app.prompts.volatile_lines import UNTREATED, TreatedLines
from app.runs.usage import anthropic_usage, combined_usage, message_usage, ollama_usage, openai_usage
from app.schemas.response_bodies import usage as bodies
from cache_tiers.registry import all_tiers
from engine.api.outputs import KVReceipt, Phases, Usage
from engine.api.promise import PromiseReport

RECEIPT_DOC = Path(__file__).parents[4] / "docs" / "reference" / "receipt.md"
COUNTS = [each.name for each in fields(KVReceipt) if each.type is int]


def receipt_of(count: int) -> KVReceipt:
    """Build a receipt whose counts all have one value."""
    counts: dict[str, Any] = dict.fromkeys(COUNTS, count)
    return KVReceipt(**counts)


def usage_with(kv: KVReceipt) -> Usage:
    return Usage(prompt_tokens=9, completion_tokens=1, kv=kv, queue_ms=0.0, ttft_ms=1.0, total_ms=2.0)


def test_several_prompts_sum_every_count_of_their_receipts() -> None:
    combined = combined_usage([usage_with(receipt_of(3)), usage_with(receipt_of(4))]).kv
    assert {name: getattr(combined, name) for name in COUNTS} == dict.fromkeys(COUNTS, 7)


PROMISE = PromiseReport(num_tokens=128, num_declined=64, seconds=300.0, until=1e9, reason="reservation_full")


def test_every_field_of_the_receipt_is_described() -> None:
    receipt = KVReceipt(prefetched=Counter({"redis": 1}), form="valid", promise=PROMISE)
    sent = set(openai_usage(usage_with(receipt), TreatedLines(("a",)))["kv"])
    # A field that stored messages may lack is not required, so mypy does not miss it. `reuse` is in stored ones only.
    figures = bodies.ReceiptFigures.__annotations__.keys() - {"reuse"}
    assert sent == figures | {tier.id for tier in all_tiers()}
    table = RECEIPT_DOC.read_text().partition("| field | meaning |")[2].partition("\n\n")[0]
    first_cells = "".join(line.split(" | ")[0] for line in table.splitlines())
    assert set(re.findall(r"`(\w+)", first_cells)) == sent


def test_promises_of_several_prompts_are_summed() -> None:
    whole = PromiseReport(num_tokens=64, num_declined=0, seconds=300.0, until=2e9, reason=None)
    both = combined_usage([usage_with(KVReceipt(promise=each)) for each in (whole, PROMISE)])
    assert both.kv.promise == PromiseReport(192, 64, 300.0, 1e9, "reservation_full")
    assert combined_usage([usage_with(KVReceipt())] * 2).kv.promise is None


def test_messages_count_as_created_what_is_computed_and_promised() -> None:
    kv = KVReceipt(reused=Counter({"device": 64}), computed=100, promise=PROMISE)
    shown = anthropic_usage(replace(usage_with(kv), prompt_tokens=164))
    counted = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
    assert [shown[name] for name in counted] == [36, 64, 64]
    assert shown["cache_creation"] == {"ephemeral_5m_input_tokens": 64, "ephemeral_1h_input_tokens": 0}


def test_treated_lines_are_in_the_receipt_of_every_api() -> None:
    usage, lines = usage_with(KVReceipt()), TreatedLines(("hash",), ("date", "clock"))
    for shown in (openai_usage(usage, lines), anthropic_usage(usage, lines), message_usage(usage, "kv", lines)):
        assert shown["kv"]["volatile_lines"] == {"removed": ["hash"], "moved": ["date", "clock"]}
    assert "volatile_lines" not in openai_usage(usage)["kv"]


def test_durations_for_ollama_add_up_to_the_total() -> None:
    kv = KVReceipt(computed=9, phases=Phases(queue=1.5, lookup=0.25, load=2.0, prefill=4.0))
    usage = Usage(prompt_tokens=9, completion_tokens=5, kv=kv, queue_ms=1.5, ttft_ms=7.75, total_ms=20.0)
    sent = ollama_usage(usage, UNTREATED)
    assert (sent["prompt_eval_count"], sent["eval_count"], sent["kv"]["computed"]) == (9, 5, 9)
    parts = [sent[name] for name in ("load_duration", "prompt_eval_duration", "eval_duration")]
    assert parts == [3_750_000, 4_000_000, 12_250_000]
    assert sum(parts) == sent["total_duration"] == 20_000_000
