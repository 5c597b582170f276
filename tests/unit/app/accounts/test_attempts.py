"""Logins that have begun: sealed, for ten minutes, for one browser and the servers with one secret."""

import json
import time
from dataclasses import asdict

import pytest

from app.accounts.attempts import ATTEMPT_SECONDS, AttemptSealer, new_attempt
from app.accounts.errors import LoginRefusedError

SECRET = b"of one server and of the next"


def test_sealed_attempt_opens_with_its_state_only() -> None:
    sealer, attempt = AttemptSealer(SECRET), new_attempt("/c/a")
    cookie = sealer.seal(attempt)
    assert sealer.open(cookie, attempt.state) == attempt
    assert attempt.verifier not in cookie
    wrong = [(cookie, "other"), (cookie, "ä"), (cookie, ""), (cookie[:-2], attempt.state), ("", attempt.state)]
    for text, state in [*wrong, (None, attempt.state), ("ä", attempt.state)]:
        with pytest.raises(LoginRefusedError):
            sealer.open(text, state)
    with pytest.raises(LoginRefusedError):
        AttemptSealer(b"another").open(cookie, attempt.state)
    assert AttemptSealer(SECRET).open(cookie, attempt.state) == attempt


def test_attempt_expires() -> None:
    sealer, attempt = AttemptSealer(SECRET), new_attempt("/")
    text, now = json.dumps(asdict(attempt)).encode(), int(time.time())
    old = sealer._fernet.encrypt_at_time(text, now - ATTEMPT_SECONDS - 5).decode()
    with pytest.raises(LoginRefusedError):
        sealer.open(old, attempt.state)
    recent = sealer._fernet.encrypt_at_time(text, now - ATTEMPT_SECONDS + 60).decode()
    assert sealer.open(recent, attempt.state) == attempt
