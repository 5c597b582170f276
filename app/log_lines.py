"""How the lines of the log look: text for people, JSON for whoever collects them. Secrets are in neither."""

import json
import logging
import re
import sys
import time
from collections.abc import Mapping
from typing import Literal

from app.log_repeats import REPEATS, RepeatFilter
from app.request_log import CURRENT_REQUEST, Fact
from engine.errors import OutageError

LogFormat = Literal["text", "json"]

SECRETS = (
    # User and password of a URL; the password may hold anything but what ends it.
    (re.compile(r"://[^\s/'\"]*@"), "://***@"),
    (re.compile(r"\b(bearer|basic) +[\w.~+/=-]+", re.IGNORECASE), r"\1 ***"),
    (re.compile(r"\bsk-[\w-]{8,}"), "sk-***"),
)
"""What must not be read in a log, whoever wrote it there: what it looks like, and what stands in its place."""

_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")
_BARE = re.compile(r"[^\s\"=\\]+")


def write_log(log_format: LogFormat) -> None:
    """Write all records from INFO on to standard error, repeated ones once a minute.

    Requests have their line from `app.request_log`, not from uvicorn.
    """
    handler = logging.StreamHandler(sys.stderr)
    handler.addFilter(RepeatFilter())
    handler.setFormatter(JsonLines() if log_format == "json" else TextLines())
    logging.basicConfig(level=logging.INFO, handlers=[handler])
    logging.getLogger("uvicorn").setLevel(logging.ERROR)


class TextLines(logging.Formatter):
    """`2026-01-02 03:04:05,678 INFO ebb.requests: request method=GET ... request_id=req_1`; a traceback follows
    on lines of its own."""

    def format(self, record: logging.LogRecord) -> str:
        """See logging.Formatter."""
        # What a client sent cannot begin a line: that would be a forged one.
        words = [_CONTROL.sub(_escaped, _message_of(record))]
        words += [f"{name}={_bare(value)}" for name, value in _facts_of(record).items()]
        line = f"{self.formatTime(record)} {record.levelname} {record.name}: {' '.join(words)}"
        trace = _traceback_of(self, record)
        return _without_secrets(f"{line}\n{trace}" if trace else line)


class JsonLines(logging.Formatter):
    """One object per line: time (UTC), level, logger, message, the facts, and traceback where there is one."""

    def format(self, record: logging.LogRecord) -> str:
        """See logging.Formatter."""
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
    words = [record.getMessage()]
    if (outage := _outage_of(record)) is not None:
        words.append(f": {outage.message}")
    if left_out := getattr(record, REPEATS, 0):
        words.append(f" ({left_out} more of these were left out)")
    return "".join(words)


def _outage_of(record: logging.LogRecord) -> OutageError | None:
    """Return the error of a record whose one sentence says all that a traceback would."""
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
    """As it is if it is one plain word, else quoted."""
    text = "-" if value is None else str(value)
    return text if _BARE.fullmatch(text) else json.dumps(text)
