"""What the log says of requests: one line for each that ends, with numbers; what people wrote only if a setting asks.

A line is a short message with facts beside it, `extra=said(...)`; `app.log_lines` writes them. While a request is
served its record is found in the context, which tasks inherit, so that whatever is logged on its behalf has its name.
"""

import logging
import time
from collections.abc import Mapping
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Protocol

from engine.outputs import RequestOutput

Fact = str | int | float | None

CURRENT_REQUEST: ContextVar["RequestRecord | None"] = ContextVar("current_request", default=None)
"""The request on whose behalf the running code works, if any; for the log alone. A run goes on under the name of the
request that began it."""

CLIENT_LEFT = 499
"""The status in the log of a request whose client left before its answer began; nothing is sent with it."""

PROBES = frozenset({"/health", "/ready", "/metrics"})
"""Routes that are asked every few seconds; they are worth a line only when they fail."""

MAX_LOGGED_BODY = 64 << 10

logger = logging.getLogger("ebb.requests")


class RequestTrace(Protocol):
    """One request in a trace; what it began may end after it."""

    def end(self, record: "RequestRecord") -> None:
        """The answer's last byte was sent, or the client left."""

    def generation(self, name: str, output: RequestOutput) -> None:
        """A generation that the request began has ended; `name` is its id."""


@dataclass(slots=True)
class RequestRecord:
    """One HTTP request, from its head to the end of its answer. route: the pattern that its path matched, or "-".
    trace: None without tracing."""

    request_id: str
    method: str
    route: str = "-"
    status: int = CLIENT_LEFT
    facts: dict[str, Fact] = field(default_factory=dict)
    body: bytearray | None = None
    trace: RequestTrace | None = None
    started: float = field(default_factory=time.perf_counter)

    @property
    def seconds(self) -> float:
        """Since its head was read."""
        return time.perf_counter() - self.started

    def keep_body(self, piece: bytes) -> None:
        """For the log, up to MAX_LOGGED_BODY; nothing unless `body` was set."""
        if self.body is not None:
            self.body += piece[: MAX_LOGGED_BODY - len(self.body)]

    def end(self) -> None:
        """Its one line in the log, and the end of its span."""
        if self.trace is not None:
            self.trace.end(self)
        level = logging.DEBUG if self.route in PROBES and self.status < 400 else logging.INFO
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
        logger.log(level, "request", extra=said(facts))


def said(facts: Mapping[str, Fact]) -> dict[str, Mapping[str, Fact]]:
    """The `extra` of a line that has facts."""
    return {"facts": facts}


def log_finished(name: str, output: RequestOutput) -> None:
    """A generation has ended. `name`: the id of the request, whose line then tells it, or of the run, which has its own
    line: its connections come and go."""
    facts = _facts(output)
    record = CURRENT_REQUEST.get()
    if record is not None and record.trace is not None:
        record.trace.generation(name, output)
    if record is not None and record.request_id == name:
        record.facts |= facts
    else:
        logger.info("run", extra=said({"run_id": name, **facts}))


def _facts(output: RequestOutput) -> dict[str, Fact]:
    usage = output.usage
    if usage is None:
        return {"finish": output.finish_reason}
    return {
        "finish": output.finish_reason,
        "prompt_tokens": usage.prompt_tokens,
        "device": usage.kv.device,
        "cpu": usage.kv.cpu,
        "redis": usage.kv.redis,
        "computed": usage.kv.computed,
        "completion_tokens": usage.completion_tokens,
        "queue_ms": round(usage.queue_ms, 1),
        "ttft_ms": round(usage.ttft_ms, 1),
        "total_ms": round(usage.total_ms, 1),
    }
