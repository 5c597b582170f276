"""Log lines in both formats: one line per record, with its facts and without secrets."""

import json
import logging
import sys
from collections import Counter
from collections.abc import Iterator

import pytest

from app.logs.log_lines import MAX_MESSAGE, JsonLines, TextLines
from app.logs.request_log import CURRENT_REQUEST, MAX_LOGGED_BODY, RequestRecord, log_finished, message
from engine.api.outputs import KVReceipt, RequestOutput, Usage

FORMATTERS = [TextLines(), JsonLines()]


def record_of(message: str, *arguments: object, **more: object) -> logging.LogRecord:
    return logging.getLogger("ebb.test").makeRecord(
        "ebb.test", logging.INFO, __file__, 1, message, arguments, None, extra=more or None
    )


@pytest.fixture
def in_request() -> Iterator[RequestRecord]:
    record = RequestRecord(request_id="req_1", method="POST", route="/v1/completions", status=200)
    token = CURRENT_REQUEST.set(record)
    yield record
    CURRENT_REQUEST.reset(token)


def test_text_line_ends_with_facts_quoted_unless_one_word() -> None:
    line = TextLines().format(
        record_of("request", **message({"route": "/c/{id}", "n": 3, "body": 'a "b"\nc', "x": None}))
    )
    assert line.endswith('INFO ebb.test: request route=/c/{id} n=3 body="a \\"b\\"\\nc" x=-')


def test_json_line_is_one_object_with_message_and_facts() -> None:
    line = JsonLines().format(record_of("%s answers\nnow", "it", **message({"ms": 1.5, "status": 200})))
    fields = json.loads(line)
    assert "\n" not in line
    assert fields.pop("time").endswith("Z")
    assert fields == {"level": "INFO", "logger": "ebb.test", "message": "it answers\nnow", "ms": 1.5, "status": 200}


def test_client_input_cannot_forge_a_line() -> None:
    line = TextLines().format(record_of("no model named %s", "x\r\n2026-01-01 ERROR forged\x1b[31m\u2028"))
    assert "x\\r\\n2026-01-01 ERROR forged\\x1b[31m\\u2028" in line
    assert len(line.splitlines()) == 1


@pytest.mark.parametrize("formatter", FORMATTERS)
def test_message_that_quotes_a_client_is_bounded(formatter: logging.Formatter) -> None:
    line = formatter.format(record_of("a login was refused: %s", "x" * 200_000))
    assert len(line) < MAX_MESSAGE + 500
    assert "... (200021 characters)" in line


def test_client_input_in_an_error_cannot_forge_a_line() -> None:
    forged = "2026-01-02 03:04:05,678 INFO ebb.requests: request"
    try:
        raise RuntimeError(f"bad value\n{forged}\r{forged}\x1b[2J")
    except RuntimeError:
        record = record_of("request failed")
        record.exc_info = sys.exc_info()
    text = TextLines().format(record)
    first, *further = text.splitlines()
    assert first.endswith("request failed")
    assert all(line.startswith("  ") for line in further)
    assert "\r" not in text
    assert "\x1b" not in text


@pytest.mark.parametrize("formatter", FORMATTERS)
def test_every_line_of_a_request_has_its_id(formatter: logging.Formatter, in_request: RequestRecord) -> None:
    assert "req_1" in formatter.format(record_of("something else"))


@pytest.mark.parametrize("formatter", FORMATTERS)
@pytest.mark.parametrize(
    "text",
    [
        "cannot reach redis://:hunter2@host:6379/0",
        "rediss://ann:hunter2@host",
        "unix://:hunter2@/run/redis.sock",
        "redis://:hunter2%40@host",
        "Authorization: Bearer hunter2",
        "authorization: basic hunter2==",
        "key sk-hunter2-abcdefgh",
    ],
)
def test_secrets_are_masked_in_messages_facts_and_tracebacks(formatter: logging.Formatter, text: str) -> None:
    try:
        raise RuntimeError(text)
    except RuntimeError:
        info = sys.exc_info()
    record = record_of(text, **message({"fact": text}))
    record.exc_info = info
    line = formatter.format(record)
    assert "hunter2" not in line
    assert "***" in line
    assert "RuntimeError" in line


def test_address_without_password_stays_readable() -> None:
    text = "redis://host:6379 and mail@example.org, http://h/a?b=c@d"
    assert text in TextLines().format(record_of(text))


def output(name: str) -> RequestOutput:
    usage = Usage(
        prompt_tokens=8,
        completion_tokens=3,
        kv=KVReceipt(reused=Counter(cpu=5), computed=3),
        queue_ms=1.0,
        ttft_ms=2.0,
        total_ms=10.0,
    )
    return RequestOutput(request_id=name, text="", token_ids=(), finish_reason="stop", usage=usage)


def test_generation_is_in_request_line_and_run_in_its_own(
    in_request: RequestRecord, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("DEBUG", logger="ebb.requests")
    log_finished("req_1", output("req_1"))
    assert caplog.records == []
    log_finished("run_1", output("run_1"))
    in_request.end()
    run, request = (JsonLines().format(record) for record in caplog.records)
    tokens = {"prompt_tokens": 8, "cpu": 5, "computed": 3, "completion_tokens": 3, "finish": "stop"}
    assert json.loads(run).items() >= {"message": "run", "run_id": "run_1", "request_id": "req_1", **tokens}.items()
    assert json.loads(request).items() >= {"message": "request", "request_id": "req_1", **tokens}.items()


def test_logged_body_is_bounded() -> None:
    record = RequestRecord(request_id="req_1", method="POST", body=bytearray())
    record.keep_body(bytes(MAX_LOGGED_BODY - 1))
    record.keep_body(b"abc")
    assert record.body is not None
    assert len(record.body) == MAX_LOGGED_BODY


@pytest.mark.parametrize(
    ("route", "status", "level"), [("/ready", 503, "INFO"), ("/v1/models", 200, "DEBUG"), ("/v1/models", 499, "INFO")]
)
def test_successful_requests_are_logged_at_debug_level(
    caplog: pytest.LogCaptureFixture, route: str, status: int, level: str
) -> None:
    caplog.set_level("DEBUG", logger="ebb.requests")
    RequestRecord(request_id="req_1", method="GET", route=route, status=status).end()
    assert [record.levelname for record in caplog.records] == [level]
