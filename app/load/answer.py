"""One streamed answer: its text, when each piece came, and the cost that the server reports."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from cache_tiers.registry import all_tiers
from cache_tiers.tier import TierId


class RequestFailedError(Exception):
    """The server refused the request, or failed in the middle of its stream.

    `status` is the HTTP status, 200 for a failed stream.
    """

    def __init__(self, status: int, detail: str) -> None:
        """Make the error.

        detail: the body of the response, from which OpenAI's error message is extracted.
        """
        super().__init__(f"HTTP {status}: {_sentence(detail)[:400]}")
        self.status = status


def _sentence(detail: str) -> str:
    try:
        return str(json.loads(detail)["error"]["message"])
    except (ValueError, KeyError, TypeError):
        return detail


class StreamBrokenError(Exception):
    """The stream stalled, ended before a finish reason, or was not in OpenAI's format."""


@dataclass(frozen=True, slots=True)
class TierTokens:
    """Prompt tokens by the source of their KV, as an Ebb server reports them in `usage.kv`.

    reused: tokens by the tier that had their KV.
    restore_ms: milliseconds spent on restoring KV.
    """

    reused: Mapping[TierId, int]
    computed: int
    restore_ms: float


@dataclass(frozen=True, slots=True)
class TokenUsage:
    """The server's own token counts. `cached_tokens` and `kv` are None if the server does not report them."""

    prompt_tokens: int
    completion_tokens: int
    cached_tokens: int | None
    kv: TierTokens | None


@dataclass(frozen=True, slots=True)
class Answer:
    """One complete answer. Times are in seconds.

    sent: reading of time.perf_counter() when the request was sent, so that streams can be aligned.
    total: time from sending the request to the end of the answer.
    text_times: time from sending the request to each event with text.
    usage: None if the server does not report it.
    """

    text: str
    finish_reason: str
    sent: float
    total: float
    text_times: tuple[float, ...]
    usage: TokenUsage | None

    @property
    def ttft(self) -> float:
        """Time to the first text, or to the end of an answer without text."""
        return self.text_times[0] if self.text_times else self.total

    @property
    def gaps(self) -> tuple[float, ...]:
        """Times between events with text: the inter-token latencies of a server that sends an event per token."""
        return tuple(b - a for a, b in pairwise(self.text_times))

    @property
    def tokens(self) -> int:
        """Number of tokens: the server's count, or else the number of events with text."""
        return self.usage.completion_tokens if self.usage else len(self.text_times)

    @property
    def prompt_tokens(self) -> int:
        """Number of prompt tokens by the server's count; 0 if it reports none."""
        return self.usage.prompt_tokens if self.usage else 0

    def tier_tokens(self) -> TierTokens:
        """Return the receipt of a server with tiers. Raise StreamBrokenError if there is none."""
        if self.usage is None or self.usage.kv is None:
            raise StreamBrokenError("the answer's usage has no receipt of KV tiers")
        return self.usage.kv


class AnswerBuilder:
    """Collector of the chunks of one stream."""

    def __init__(self, sent: float) -> None:
        self._sent = sent
        self._texts: list[str] = []
        self._times: list[float] = []
        self._finish_reason: str | None = None
        self._usage: TokenUsage | None = None
        self._ended: float | None = None

    def add(self, chunk: Mapping[str, Any], now: float) -> None:
        """Add one chunk. Raise RequestFailedError if it carries an error. Unknown fields are ignored."""
        if chunk.get("error"):
            raise RequestFailedError(200, str(chunk["error"]))
        if chunk.get("usage"):
            self._usage = parse_usage(chunk["usage"])
        for choice in chunk.get("choices") or ():
            # Chat chunks carry delta.content, which may be null or missing, or reasoning; completion chunks carry text.
            delta = choice.get("delta") or {}
            text = delta.get("reasoning_content") or delta.get("content") or choice.get("text") or ""
            if text:
                self._texts.append(text)
                self._times.append(now - self._sent)
            self._finish_reason = choice.get("finish_reason") or self._finish_reason

    def end(self, now: float) -> None:
        """Mark the end of the answer. The time until the connection closes is not part of it."""
        self._ended = now

    def finish(self, now: float) -> Answer:
        """Return the whole answer. Raise StreamBrokenError if the stream ended without a finish reason."""
        if self._finish_reason is None:
            raise StreamBrokenError(f"the stream ended early, after {len(self._texts)} pieces of text")
        return Answer(
            text="".join(self._texts),
            finish_reason=self._finish_reason,
            sent=self._sent,
            total=(self._ended or now) - self._sent,
            text_times=tuple(self._times),
            usage=self._usage,
        )


def parse_usage(usage: Mapping[str, Any]) -> TokenUsage:
    """Parse OpenAI's usage object, with Ebb's receipt if there is one."""
    details = usage.get("prompt_tokens_details") or {}
    cached = details.get("cached_tokens")
    kv = usage.get("kv")
    return TokenUsage(
        prompt_tokens=int(usage["prompt_tokens"]),
        completion_tokens=int(usage["completion_tokens"]),
        cached_tokens=None if cached is None else int(cached),
        kv=None
        if kv is None
        else TierTokens(
            reused={tier.id: int(kv.get(tier.id, 0)) for tier in all_tiers()},
            computed=int(kv["computed"]),
            restore_ms=float(kv["restore_ms"]),
        ),
    )
