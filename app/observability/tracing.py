"""OpenTelemetry traces of requests and generations, sent to a collector. An extra: `pip install 'ebb-chat[tracing]'`.

    POST /v1/chat/completions            the server's span, in the client's trace if it sent a `traceparent`
      chat smollm2-135m-instruct         one generation: tokens, tiers, finish reason
        queue, lookup, load, prefill     the phases of the receipt, one after another
        decode

Spans contain numbers and names, never messages. The SDK reads OTEL_EXPORTER_OTLP_HEADERS and its other variables
itself. A separate thread sends the spans, and drops them if the collector is slow or unreachable.
"""

import time
from collections.abc import Callable

from opentelemetry.context import Context
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.trace import Span, SpanKind, StatusCode, Tracer, set_span_in_context
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator
from starlette.datastructures import Headers
from starlette.types import Scope

from app.logs.request_log import PROBES, RequestRecord
from app.version import VERSION
from cache_tiers.registry import all_tiers
from engine.api.outputs import RequestOutput, Usage

MAX_STATE = 512
"""Characters of `tracestate`, of which longer ones are left out (W3C Trace Context, section 3.3.1.5). The library takes
time in proportion to the square of their number."""

NS_PER_MS = 1_000_000
SERVER_ERROR = 500


class Tracing:
    """Maker of spans. Owns the exporter and its thread."""

    def __init__(self, endpoint: str, model: Callable[[], str]) -> None:
        """Start the exporter.

        endpoint: URL of a collector, such as http://localhost:4318/v1/traces.
        model: returns the name of the served model.
        """
        self._provider = TracerProvider(
            resource=Resource.create({"service.name": "ebb", "service.version": VERSION}), shutdown_on_exit=False
        )
        self._provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter(endpoint)))
        self._tracer = self._provider.get_tracer("ebb")
        self._model = model

    def begin(self, scope: Scope, record: RequestRecord) -> "RequestSpan | None":
        """Begin the span of a request. Returns None for routes that are polled every few seconds."""
        if scope["path"] in PROBES:
            return None
        parent = trace_of(Headers(scope=scope))
        span = self._tracer.start_span(record.method, parent, SpanKind.SERVER, {"http.request.method": record.method})
        return RequestSpan(self._tracer, span, self._model)

    def close(self) -> None:
        """Send the remaining spans. Blocks for a few seconds if the collector does not answer."""
        self._provider.shutdown()


class RequestSpan:
    """Span of one request, which may end before the generations that it started."""

    def __init__(self, tracer: Tracer, span: Span, model: Callable[[], str]) -> None:
        self._tracer = tracer
        self._span = span
        self._model = model

    def end(self, record: RequestRecord) -> None:
        """End the span: the last byte was sent, or the client left."""
        self._span.update_name(f"{record.method} {record.route}")
        self._span.set_attributes(
            {
                "http.route": record.route,
                "http.response.status_code": record.status,
                "ebb.request_id": record.request_id,
            }
        )
        if record.status >= SERVER_ERROR:
            self._span.set_status(StatusCode.ERROR)
        self._span.end()

    def generation(self, name: str, output: RequestOutput) -> None:
        """Record a generation of this request that has ended. `name` is its id."""
        usage, model = output.usage, self._model()
        end = time.time_ns()
        start = end - int((usage.total_ms if usage is not None else 0) * NS_PER_MS)
        span = self._tracer.start_span(f"chat {model}", _inside(self._span), start_time=start)
        span.set_attributes(
            {
                "gen_ai.operation.name": "chat",
                "gen_ai.request.model": model,
                "gen_ai.response.id": name,
                "gen_ai.response.finish_reasons": (str(output.finish_reason),),
            }
        )
        if output.finish_reason == "error":
            span.set_status(StatusCode.ERROR)
        if usage is not None:
            self._phases(span, usage, start=start, end=end)
        span.end(end)

    def _phases(self, span: Span, usage: Usage, *, start: int, end: int) -> None:
        kv = usage.kv
        span.set_attributes(
            {
                "gen_ai.usage.input_tokens": usage.prompt_tokens,
                "gen_ai.usage.output_tokens": usage.completion_tokens,
                **{f"ebb.kv.{tier.id}": kv.reused[tier.id] for tier in all_tiers()},
                "ebb.kv.computed": kv.computed,
            }
        )
        phases = kv.phases
        inside = _inside(span)
        parts = {"queue": phases.queue, "lookup": phases.lookup, "load": phases.load, "prefill": phases.prefill}
        begun = start
        for name, ms in parts.items():
            until = begun + int(ms * NS_PER_MS)
            if until > begun:
                self._tracer.start_span(name, inside, start_time=begun).end(until)
            begun = until
        if usage.completion_tokens:
            self._tracer.start_span("decode", inside, start_time=begun).end(max(begun, end))


def trace_of(headers: Headers) -> Context:
    """Return the trace that a client's headers name; an empty one if they name none (W3C Trace Context)."""
    given = {name: headers.get(name, "") for name in ("traceparent", "tracestate")}
    named = {name: value for name, value in given.items() if 0 < len(value) <= MAX_STATE}
    return TraceContextTextMapPropagator().extract(named, Context())


def _inside(span: Span) -> Context:
    """Return a context with `span` alone. The current context may belong to other code."""
    return set_span_in_context(span, Context())
