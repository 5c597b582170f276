"""Report of how much of a run's prompt could have been reused, how much was, and why no more.

Two sources record the prompts computed before: the engine, for its recent requests in any conversation, and the run's
own conversation, which outlives the server. Both are limited to one tenant. Text that only another tenant has computed
is reported as never seen, so that tenants cannot learn about each other.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from app.domain.records import Message
from app.host.backend import TextTokenizer
from app.prompts.earlier_prompts import Earlier, Known
from app.schemas.response_bodies.reuse_report import Divergence, PromptSide, ReuseReport
from app.schemas.response_bodies.usage import StoredReuse
from cache_tiers import registry
from cache_tiers.tier import BLOCK_TTL_SECONDS
from engine.api.outputs import Reuse

SHOWN_DIGITS = 8
"""Digits of a fingerprint that are stored and shown."""

CONTEXT = 8
"""Number of tokens shown on either side of the point where two prompts diverge."""

COMPLETE = "The whole prompt was reused except its last token, which is always computed."
NEVER_SEEN = "The next tokens had not been computed before, as far as this server can tell."
TEMPLATE_CHANGED = "The system prompt, the chat template or the tokenizer has changed since the previous turn."
MESSAGES_LEFT_OUT = "Since this turn, the prompt leaves out another number of messages at the beginning of the chat."
PARTIAL_BLOCK = (
    "The next tokens had been computed before, but do not fill a block, and only full blocks are sure to be kept."
)
EXPIRED = "The next tokens had been computed before, but were unused for longer than any tier keeps a block."
OTHERWISE = (
    "The next tokens had been computed before, but {computed}. That KV has other bits than the KV of this run: the "
    "version of Ebb, the model or the way to compute has changed."
)
OFF = "No prompt is ever reused: the server runs with --no-prefix-cache."
NOT_RECORDED = "No receipt was recorded: the run ended before its turn, or the server stopped before the run ended."
NOT_ENDED = "The run has not ended yet. Its receipt follows when it ends."
LOST = {
    "evicted": "The next tokens had been computed before, but their KV is gone",
    "rejected": "The next tokens had been computed before, but their KV could not be used",
    "breaker_open": "The next tokens had been computed before, but a tier was not used",
    "not_worth_loading": "The next tokens had been computed before, but recomputing them was judged cheaper",
    "not_brought": "The next tokens had been computed before, but their KV could not be loaded",
}


@dataclass(frozen=True, slots=True)
class Verdict:
    """Reason why reuse ended.

    cause: None if the reason is unknown.
    gone_from: tiers that once had the next block and no longer do.
    """

    cause: str | None
    explanation: str
    gone_from: Sequence[str] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Case:
    """Facts that a verdict is based on.

    until: tokens that were reused.
    reusable: tokens that had been computed before.
    most: tokens that could be reused at most.
    end: the engine's record of the first block that was not reused; None if there is none.
    unused_seconds: time since the reusable tokens were last used; 0 if unknown.
    other_kv: fingerprint of the KV of the reusable tokens, if this run cannot use that KV, or nothing if an earlier
        version did not record the fingerprint; None otherwise.
    """

    until: int
    reusable: int
    most: int
    end: Mapping[str, Any] | None
    prompt_changed: bool
    beginning_changed: bool
    unused_seconds: float
    other_kv: str | None


def stored_reuse(reuse: Reuse, kv_fingerprint: str) -> StoredReuse:
    """Return the reuse record that is stored with a message.

    kv_fingerprint: that of the engine that began the run.
    The continuation of the other prompt is left out: text of one conversation must not enter another.
    """
    end = reuse.end
    return {
        "until": reuse.until,
        "known": reuse.known.num_tokens,
        "end": None if end is None else {"cause": end.cause, "detail": end.detail, "gone_from": list(end.gone_from)},
        "kv": kv_fingerprint[:SHOWN_DIGITS],
    }


def reuse_report(
    answer: Message,
    earlier: Earlier,
    continuation: tuple[int, ...] | None,
    tokenizer: TextTokenizer,
    *,
    block_size: int,
) -> ReuseReport:
    """Return the report on `answer`, which has a run.

    earlier: the comparison with earlier turns of the conversation.
    continuation: tokens that followed in the prompt that the engine remembered; None if they are no longer known.
    """
    usage = answer.usage
    if usage is None:
        return _body(answer, 0, Verdict(None, NOT_ENDED if answer.status == "in_progress" else NOT_RECORDED))
    kept = usage["kv"].get("reuse")
    if kept is None:
        is_off = "reuse" in usage["kv"] and usage["completion_tokens"]
        verdict = Verdict("off", OFF) if is_off else Verdict(None, NOT_RECORDED)
        return _body(answer, 0, verdict)
    known = _longer(earlier.known, kept["known"], continuation)
    most = usage["prompt_tokens"] - 1
    case = _Case(
        until=kept["until"],
        reusable=min(max(known.num_computed, kept["until"]), most),
        most=most,
        end=kept["end"],
        prompt_changed=earlier.prompt_changed,
        beginning_changed=earlier.beginning_changed,
        unused_seconds=answer.created_at - known.used_at if known.used_at is not None else 0.0,
        other_kv=_other_kv(known, kept),
    )
    return {
        **_body(answer, case.until, _judge(case, block_size)),
        "reusable_tokens": case.reusable,
        "diverges": _divergence(earlier.prompt, known, tokenizer),
    }


def _body(answer: Message, until: int, verdict: Verdict) -> ReuseReport:
    usage = answer.usage
    assert answer.run_id is not None
    return {
        "run_id": answer.run_id,
        "message_id": answer.id,
        "status": answer.status,
        "receipt": None if usage is None else {name: value for name, value in usage["kv"].items() if name != "reuse"},
        "prompt_tokens": None if usage is None else usage["prompt_tokens"],
        "reusable_tokens": None,
        "reused_until": None if usage is None else until,
        "cause": verdict.cause,
        "explanation": verdict.explanation,
        "gone_from": list(verdict.gone_from),
        "diverges": None,
    }


def _longer(stored: Known, remembered: int, continuation: tuple[int, ...] | None) -> Known:
    """Return the longer of the prefixes that the conversation and the engine remember."""
    if stored.num_computed > remembered or (stored.num_computed == remembered and stored.continuation is not None):
        return stored
    return Known(remembered, remembered, continuation)


def _judge(case: _Case, block_size: int) -> Verdict:
    if case.until >= case.most:
        return Verdict("complete", COMPLETE)
    if case.until < case.reusable // block_size * block_size:
        return _lost(case)
    if case.prompt_changed:
        return Verdict("template_changed", TEMPLATE_CHANGED)
    if case.beginning_changed:
        return Verdict("messages_left_out", MESSAGES_LEFT_OUT)
    if case.until < case.reusable:
        return Verdict("partial_block", PARTIAL_BLOCK)
    return Verdict("never_seen", NEVER_SEEN)


def _other_kv(known: Known, kept: Mapping[str, Any]) -> str | None:
    is_other = "kv" in kept and known.kv_fingerprint not in (None, kept["kv"])
    return known.kv_fingerprint if is_other else None


def _lost(case: _Case) -> Verdict:
    if case.other_kv is not None and (case.end is None or case.end["cause"] == "evicted"):
        computed = f"with the fingerprint {case.other_kv}" if case.other_kv else "by an earlier version of Ebb"
        return Verdict("computed_otherwise", OTHERWISE.format(computed=computed))
    if case.end is None:
        return Verdict("evicted", f"{LOST['evicted']}.", ("device",))
    cause, gone_from = case.end["cause"], case.end["gone_from"]
    was_below = any(kind.tier.id in gone_from for kind in registry.LOWER_TIERS)
    if cause == "evicted" and was_below and case.unused_seconds > BLOCK_TTL_SECONDS:
        return Verdict("expired", EXPIRED, gone_from)
    return Verdict(cause, f"{LOST[cause]}: {case.end['detail']}.", gone_from)


def _divergence(prompt: tuple[int, ...] | None, known: Known, tokenizer: TextTokenizer) -> Divergence | None:
    """Return where the prompt diverges from the earlier prompt with the longest common prefix.

    Returns None if it does not diverge, or if the point is unknown.
    """
    at = known.common_prefix_len
    if prompt is None or at >= len(prompt) or (at == 0 and not known.continuation):
        return None
    return {
        "at": at,
        "before": tokenizer.describe(prompt[max(0, at - CONTEXT) : at]),
        "this": _side(prompt[at : at + CONTEXT], tokenizer),
        "other": None if known.continuation is None else _side(known.continuation[:CONTEXT], tokenizer),
    }


def _side(ids: Sequence[int], tokenizer: TextTokenizer) -> PromptSide:
    """Describe one side of a divergence.

    token: None if that prompt ended there.
    """
    return {
        "token": ids[0] if ids else None,
        "text": tokenizer.describe(ids[:1]),
        "following": tokenizer.describe(ids[1:]),
    }
