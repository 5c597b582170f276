"""Usage as JSON: the fields of an API, along with the KV receipt."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final

from app.prompts.volatile_lines import UNTREATED, TreatedLines
from app.runs.reuse_report import stored_reuse
from app.schemas.response_bodies import usage as bodies
from cache_tiers.registry import all_tiers
from cache_tiers.tier import CPU, DEVICE
from engine.api.outputs import FormVerdict, KVReceipt, Usage
from engine.api.promise import PromiseReport

_FIVE_MINUTES: Final = 300.0


def combined_usage(usages: Sequence[Usage]) -> Usage:
    """Combine the usage of all prompts of one request.

    Counts, bytes and saved times are summed. Every other time is the longest of any prompt. The phases are those of the
    prompt with the latest first token.

    usages: at least one.
    """
    if len(usages) == 1:
        return usages[0]
    receipts = [usage.kv for usage in usages]
    kv = KVReceipt(
        phases=max((kv.phases for kv in receipts), key=lambda phases: phases.first_token),
        restore_ms=max(kv.restore_ms for kv in receipts),
        saved_ms=sum(kv.saved_ms or 0.0 for kv in receipts),
        reused=sum((kv.reused for kv in receipts), Counter()),
        loaded_bytes=sum((kv.loaded_bytes for kv in receipts), Counter()),
        computed=sum(kv.computed for kv in receipts),
        blocks_verified=sum(kv.blocks_verified for kv in receipts),
        prefetched=sum((kv.prefetched for kv in receipts), Counter()),
        form=_worst(receipts),
        promise=_together([kv.promise for kv in receipts if kv.promise is not None]),
    )
    return Usage(
        prompt_tokens=sum(usage.prompt_tokens for usage in usages),
        completion_tokens=sum(usage.completion_tokens for usage in usages),
        reasoning_tokens=sum(usage.reasoning_tokens for usage in usages),
        kv=kv,
        queue_ms=max(usage.queue_ms for usage in usages),
        ttft_ms=max(usage.ttft_ms for usage in usages),
        total_ms=max(usage.total_ms for usage in usages),
    )


def usage_of_answers(usages: Sequence[Usage]) -> Usage:
    """Combine the usage of several answers to one prompt. The prompt counts once, with the first answer's figures."""
    first = usages[0]
    return replace(
        first,
        kv=replace(first.kv, form=_worst([usage.kv for usage in usages])),
        completion_tokens=sum(usage.completion_tokens for usage in usages),
        reasoning_tokens=sum(usage.reasoning_tokens for usage in usages),
        total_ms=max(usage.total_ms for usage in usages),
    )


def _together(promises: Sequence[PromiseReport]) -> PromiseReport | None:
    """Return the sum of several prompts' promises; None if none of the requests asked for one."""
    if not promises:
        return None
    return PromiseReport(
        num_tokens=sum(each.num_tokens for each in promises),
        num_declined=sum(each.num_declined for each in promises),
        seconds=max(each.seconds for each in promises),
        until=min(each.until for each in promises),
        reason=next((each.reason for each in promises if each.reason is not None), None),
    )


def _worst(receipts: Sequence[KVReceipt]) -> FormVerdict | None:
    """Return the worst verdict on the forms of several answers; None if none was checked."""
    found = {kv.form for kv in receipts}
    worst: tuple[FormVerdict, ...] = ("invalid", "unchecked", "valid")
    return next((verdict for verdict in worst if verdict in found), None)


def openai_usage(usage: Usage, lines: TreatedLines = UNTREATED) -> bodies.TokenUsage:
    """Serialize usage for OpenAI's API. `cached_tokens` are the prompt tokens reused from a tier.

    lines: volatile lines that were treated in the prompt.
    """
    shown: bodies.TokenUsage = {
        "prompt_tokens": usage.prompt_tokens,
        "completion_tokens": usage.completion_tokens,
        "total_tokens": usage.prompt_tokens + usage.completion_tokens,
        "prompt_tokens_details": {"cached_tokens": usage.kv.cached},
        "completion_tokens_details": {"reasoning_tokens": usage.reasoning_tokens},
        "kv": _receipt(usage.kv, lines),
    }
    if not usage.reasoning_tokens:
        del shown["completion_tokens_details"]
    return shown


def anthropic_usage(usage: Usage, lines: TreatedLines = UNTREATED) -> dict[str, Any]:
    """Serialize usage for Anthropic's API. `input_tokens` exclude the prompt tokens reused from a tier.

    Cache creation counts the tokens that were computed and are promised. Reused ones count as read from the cache.

    lines: as in `openai_usage`.
    """
    promise = usage.kv.promise
    created = max(0, promise.num_tokens - usage.kv.cached) if promise is not None else 0
    shown: dict[str, Any] = {
        "input_tokens": usage.prompt_tokens - usage.kv.cached - created,
        "cache_creation_input_tokens": created,
        "cache_read_input_tokens": usage.kv.cached,
        "output_tokens": usage.completion_tokens,
        "kv": _receipt(usage.kv, lines),
    }
    if promise is not None:
        is_long = promise.seconds > _FIVE_MINUTES
        shown["cache_creation"] = {
            "ephemeral_5m_input_tokens": 0 if is_long else created,
            "ephemeral_1h_input_tokens": created if is_long else 0,
        }
    return shown


def ollama_usage(usage: Usage, lines: TreatedLines) -> dict[str, Any]:
    """Serialize usage for Ollama's API. Durations are nanoseconds.

    Ollama reports the time before the prompt is computed as `load_duration`. Here that is the wait in the queue and for
    the tiers. The model itself is always loaded.
    """
    phases = usage.kv.phases
    return {
        "total_duration": _nanoseconds(usage.total_ms),
        "load_duration": _nanoseconds(phases.queue + phases.lookup + phases.load),
        "prompt_eval_count": usage.prompt_tokens,
        "prompt_eval_duration": _nanoseconds(phases.prefill),
        "eval_count": usage.completion_tokens,
        "eval_duration": _nanoseconds(usage.total_ms - phases.first_token),
        "kv": _receipt(usage.kv, lines),
    }


def _nanoseconds(milliseconds: float) -> int:
    return round(milliseconds * 1e6)


def _receipt(kv: KVReceipt, lines: TreatedLines) -> dict[str, Any]:
    """Serialize the receipt: tokens by tier, costs and savings. See `engine.api.outputs.KVReceipt`."""
    phases = kv.phases
    figures: bodies.ReceiptFigures = {
        "computed": kv.computed,
        "restore_ms": round(kv.restore_ms, 2),
        "bytes": {tier.id: kv.loaded_bytes[tier.id] for tier in all_tiers() if tier is not DEVICE},
        "blocks_verified": kv.blocks_verified,
        "saved_ms": round(kv.saved_ms, 2) if kv.saved_ms is not None else None,
        "phases_ms": {
            "queue": round(phases.queue, 2),
            "lookup": round(phases.lookup, 2),
            "load": round(phases.load, 2),
            "prefill": round(phases.prefill, 2),
            "first_token": round(phases.first_token, 2),
        },
    }
    if kv.prefetched:
        figures["prefetched"] = {tier.id: kv.prefetched[tier.id] for tier in all_tiers() if tier not in (DEVICE, CPU)}
    if kv.form is not None:
        figures["form"] = kv.form
    if (promise := kv.promise) is not None:
        figures["promise"] = {
            "tokens": promise.num_tokens,
            "declined": promise.num_declined,
            "until": round(promise.until, 3) if promise.num_tokens else None,
            "reason": promise.reason,
        }
    if lines != UNTREATED:
        figures["volatile_lines"] = {"removed": list(lines.removed), "moved": list(lines.moved)}
    return {**{tier.id: kv.reused[tier.id] for tier in all_tiers()}, **figures}


def message_usage(usage: Usage, kv_fingerprint: str, lines: TreatedLines = UNTREATED) -> bodies.Usage:
    """Serialize usage for a stored message: OpenAI's fields, the reuse record, and times.

    Times are milliseconds since the request arrived. `tokens_per_second` counts from the first token on.

    kv_fingerprint: that of the engine that began the run.
    lines: as in `openai_usage`.
    """
    seconds = (usage.total_ms - usage.ttft_ms) / 1000
    following = usage.completion_tokens - usage.resumed_tokens - 1
    shown = openai_usage(usage, lines)
    shown["kv"]["reuse"] = stored_reuse(usage.reuse, kv_fingerprint) if usage.reuse is not None else None
    return {
        **shown,
        "queue_ms": round(usage.queue_ms, 2),
        "ttft_ms": round(usage.ttft_ms, 2),
        "total_ms": round(usage.total_ms, 2),
        "tokens_per_second": round(following / seconds, 2) if following > 0 and seconds > 0 else None,
    }
