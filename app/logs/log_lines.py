"""Formats of log lines: text for people, JSON for log collectors. Secrets are masked in both."""

import json
import logging
import re
import sys
import time
from collections.abc import Mapping
from typing import Literal

from app.logs.log_repeats import REPEATS, RepeatFilter
from app.logs.request_log import CURRENT_REQUEST, Fact
from engine.api.errors import OutageError

LogFormat = Literal["text", "json"]
LogLevel = Literal["debug", "info", "warning"]

SECRETS = (
    # User and password of a URL. The password may contain anything except the characters that end it.
    (re.compile(r"://[^\s/'\"]*@"), "://***@"),
    (re.compile(r"\b(bearer|basic) +[\w.~+/=-]+", re.IGNORECASE), r"\1 ***"),
    (re.compile(r"\bsk-[\w-]{8,}"), "sk-***"),
)
"""Patterns of secrets, which no log line may contain, and their replacements."""

MAX_MESSAGE = 16 << 10
"""Characters of a message that are logged. A message may quote what a stranger sent, such as a refused SAML answer."""

OWN_LOGGERS = ("app", "cache_tiers", "ebb", "engine", "models")
"""Names of the loggers that Ebb's code writes to, or of their parents."""

_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")
_BARE = re.compile(r"[^\s\"=\\]+")


def write_log(log_format: LogFormat, log_level: LogLevel) -> None:
    """Log all records of `log_level` and above to standard error, repeated ones once a minute.

    Libraries log nothing below INFO. `app.logs.request_log` logs the requests, not uvicorn.
    """
    handler = logging.StreamHandler(sys.stderr)
    handler.addFilter(RepeatFilter())
    handler.setFormatter(_formatter(log_format))
    level = logging.getLevelNamesMapping()[log_level.upper()]
    logging.basicConfig(level=max(level, logging.INFO), handlers=[handler])
    for package in OWN_LOGGERS:
        logging.getLogger(package).setLevel(level)
    logging.getLogger("uvicorn").setLevel(logging.ERROR)


def left_out_line(log_format: LogFormat, count: int) -> str:
    """Return the line in place of `count` lines that could not be written."""
    message = f"{count:,} lines were left out: standard error took no more"
    record = logging.LogRecord(__name__, logging.WARNING, __file__, 0, message, None, None)
    return _formatter(log_format).format(record)


def _formatter(log_format: LogFormat) -> logging.Formatter:
    return JsonLines() if log_format == "json" else TextLines()


class TextLines(logging.Formatter):
    """Formatter of text lines. Tracebacks follow on separate lines, which are indented.

    2026-01-02 03:04:05,678 INFO ebb.requests: request method=GET ... request_id=req_1
    """

    def format(self, record: logging.LogRecord) -> str:
        """Format a record (logging.Formatter)."""
        # Escape control characters, so that a client's text cannot forge a line.
        words = [_CONTROL.sub(_escaped, _message_of(record))]
        words += [f"{name}={_bare(value)}" for name, value in _facts_of(record).items()]
        line = f"{self.formatTime(record)} {record.levelname} {record.name}: {' '.join(words)}"
        # The message of an error may quote a client, too, and no line of it may look like a record.
        trace = (f"\n  {_CONTROL.sub(_escaped, each)}" for each in _traceback_of(self, record).splitlines())
        return _without_secrets(line + "".join(trace))


class JsonLines(logging.Formatter):
    """Formatter of one JSON object per line: time (UTC), level, logger, message, facts, and the traceback if any."""

    def format(self, record: logging.LogRecord) -> str:
        """Format a record (logging.Formatter)."""
        seconds = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created))
        line: dict[str, Fact] = {
            "time": f"{seconds}.{int(record.msecs):03d}Z",
            "level": record.levelname,
            "logger": record.name,
            "message": _message_of(record),
            **_facts_of(record),
        }
        trace = _traceback_of(self, record)
        if trace:
            line["traceback"] = trace
        return json.dumps({name: _clean(value) for name, value in line.items()})


def _facts_of(record: logging.LogRecord) -> Mapping[str, Fact]:
    facts: dict[str, Fact] = dict(getattr(record, "facts", {}))
    request = CURRENT_REQUEST.get()
    if request is not None:
        facts["request_id"] = request.request_id
    return facts


def _message_of(record: logging.LogRecord) -> str:
    text = record.getMessage()
    words = [text if len(text) <= MAX_MESSAGE else f"{text[:MAX_MESSAGE]}... ({len(text)} characters)"]
    if (outage := _outage_of(record)) is not None:
        words.append(f": {outage.message}")
    if left_out := getattr(record, REPEATS, 0):
        words.append(f" ({left_out} more such lines were left out)")
    return "".join(words)


def _outage_of(record: logging.LogRecord) -> OutageError | None:
    """Return the error of a record whose message makes a traceback unnecessary."""
    error = record.exc_info[1] if record.exc_info else None
    return error if isinstance(error, OutageError) else None


def _traceback_of(formatter: logging.Formatter, record: logging.LogRecord) -> str:
    has_trace = record.exc_info and _outage_of(record) is None
    parts = [formatter.formatException(record.exc_info)] if record.exc_info and has_trace else []
    if record.stack_info:
        parts.append(record.stack_info)
    return "\n".join(parts)


def _without_secrets(text: str) -> str:
    for shape, instead in SECRETS:
        text = shape.sub(instead, text)
    return text


def _clean(value: Fact) -> Fact:
    return _without_secrets(value) if isinstance(value, str) else value


def _escaped(match: re.Match[str]) -> str:
    return match[0].encode("unicode_escape").decode()


def _bare(value: Fact) -> str:
    """Return a single plain word as it is, and any other value quoted."""
    text = "-" if value is None else str(value)
    return text if _BARE.fullmatch(text) else json.dumps(text)
