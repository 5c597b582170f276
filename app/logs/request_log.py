"""Log of requests: one line of figures for each request when it ends. Message texts are logged only by a setting.

Requests that succeed are logged at DEBUG level: a day of use has thousands of them, and metrics count them. A request
that failed, or whose body is logged, is logged at INFO level.

A line is a short message with facts attached, `extra=said(...)`, which `app.logs.log_lines` formats. While a request is
served, its record is in a context variable. Tasks inherit it, so that every line logged on behalf of the request has
its id.
"""

import logging
import time
from collections.abc import Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Protocol

from cache_tiers.registry import all_tiers
from engine.api.outputs import RequestOutput

Fact = str | int | float | None

CURRENT_REQUEST: ContextVar["RequestRecord | None"] = ContextVar("current_request", default=None)
"""The request on whose behalf the code is running, for the log and for the turns of work on threads; None outside of
requests. A run keeps the request that started it.
"""

CLIENT_LEFT = 499
"""Logged status of a request whose client left before the response began. Never sent."""

PROBES = frozenset({"/health", "/ready", "/metrics"})
"""Routes that are polled every few seconds."""

MAX_LOGGED_BODY = 64 << 10

logger = logging.getLogger("ebb.requests")


class RequestTrace(Protocol):
    """One request in a trace. Generations that the request started may end after it."""

    def end(self, record: "RequestRecord") -> None:
        """End the request: the last byte was sent, or the client left."""

    def generation(self, name: str, output: RequestOutput) -> None:
        """Record a generation of this request that has ended. `name` is its id."""


@dataclass(slots=True, kw_only=True)
class RequestRecord:
    """One HTTP request, from its head to the end of its response.

    route: the pattern that the path matched, or "-".
    facts: figures that its log line adds.
    body: bytes of the request to log; None leaves the body out.
    trace: None without tracing.
    tenant: the tenant that sent the request; "" while that is unknown, and for strangers.
    """

    request_id: str
    method: str
    route: str = "-"
    status: int = CLIENT_LEFT
    facts: dict[str, Fact] = field(default_factory=dict)
    body: bytearray | None = None
    trace: RequestTrace | None = None
    started: float = field(default_factory=time.perf_counter)
    tenant: str = ""

    @property
    def seconds(self) -> float:
        """Seconds since the head was read."""
        return time.perf_counter() - self.started

    def keep_body(self, piece: bytes) -> None:
        """Keep a piece of the body for the log, up to MAX_LOGGED_BODY in all. Does nothing if `body` is None."""
        if self.body is not None:
            self.body += piece[: MAX_LOGGED_BODY - len(self.body)]

    def end(self) -> None:
        """Log the request and end its span."""
        if self.trace is not None:
            self.trace.end(self)
        level = logging.DEBUG if self.status < 400 and not self.body else logging.INFO
        facts: dict[str, Fact] = {
            "method": self.method,
            "route": self.route,
            "status": self.status,
            "request_id": self.request_id,
            "ms": round(self.seconds * 1000, 1),
            **self.facts,
        }
        if self.body:
            facts["body"] = self.body.decode(errors="replace")
        logger.log(level, "request", extra=message(facts))


def message(facts: Mapping[str, Fact]) -> dict[str, Mapping[str, Fact]]:
    """Return the `extra` argument for a log line with facts."""
    return {"facts": facts}


def tenant_of_call() -> str:
    """Return the tenant on whose behalf the code is running; "" for the server itself and for strangers."""
    record = CURRENT_REQUEST.get()
    return record.tenant if record is not None else ""


def log_finished(name: str, output: RequestOutput) -> None:
    """Log a generation that has ended.

    name: id of the request, which logs the figures in its own line, or id of a run. A run gets a separate line, since
        its connections come and go.
    """
    facts = _facts(output)
    record = CURRENT_REQUEST.get()
    if record is not None and record.trace is not None:
        record.trace.generation(name, output)
    if record is not None and record.request_id == name:
        record.facts |= facts
    else:
        level = logging.INFO if output.finish_reason == "error" else logging.DEBUG
        logger.log(level, "run", extra=message({"run_id": name, **facts}))


def log_embedded(name: str, outputs: Sequence[RequestOutput]) -> None:
    """Log the texts that the request `name` embedded, with their sums."""
    record = CURRENT_REQUEST.get()
    if record is None:
        return
    if record.trace is not None:
        for output in outputs:
            record.trace.generation(name, output)
    usages = [output.usage for output in outputs if output.usage is not None]
    record.facts |= {
        "texts": len(outputs),
        "prompt_tokens": sum(usage.prompt_tokens for usage in usages),
        "computed": sum(usage.kv.computed for usage in usages),
        "queue_ms": round(max((usage.queue_ms for usage in usages), default=0.0), 1),
    }


def _facts(output: RequestOutput) -> dict[str, Fact]:
    usage = output.usage
    if usage is None:
        return {"finish": output.finish_reason}
    return {
        "finish": output.finish_reason,
        "prompt_tokens": usage.prompt_tokens,
        **{tier.id: usage.kv.reused[tier.id] for tier in all_tiers()},
        "computed": usage.kv.computed,
        "completion_tokens": usage.completion_tokens,
        "queue_ms": round(usage.queue_ms, 1),
        "ttft_ms": round(usage.ttft_ms, 1),
        "total_ms": round(usage.total_ms, 1),
    }
