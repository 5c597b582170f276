"""Errors that clients get for the last output of a request."""

import pytest

from app.domain.failures import failure_of
from engine.api.outputs import RequestOutput


@pytest.mark.parametrize(
    ("path", "status", "message"),
    [
        ("response_format", 400, "response_format: no end"),
        ("", 400, "no end"),
        (None, 500, "no end"),
    ],
)
def test_a_form_at_fault_is_the_clients_error(path: str | None, status: int, message: str) -> None:
    failure = failure_of(
        RequestOutput(request_id="r", text="", token_ids=(), finish_reason="error", error="no end", error_path=path)
    )
    assert failure is not None
    assert (failure.status, failure.message, failure.param) == (status, message, path or None)
