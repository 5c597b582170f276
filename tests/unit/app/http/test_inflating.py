"""Decompression of bodies that clients make up."""

import gzip
import os
import zlib

import pytest

from app.http.error_responses import BodyTooLargeError
from app.http.inflating import BLOCK_BYTES, MAX_MEMBERS, STEP_BYTES, Inflation
from engine.api.errors import InvalidRequestError

LIMIT = 8 << 20


def inflated(body: bytes, limit: int = LIMIT) -> bytes:
    inflation = Inflation(body, limit)
    while not inflation.is_done:
        inflation.step()
    return inflation.whole()


@pytest.mark.parametrize("compress", [gzip.compress, zlib.compress])
@pytest.mark.parametrize(
    "text",
    [b"", b"a", b"\0" * LIMIT, os.urandom(3 * BLOCK_BYTES), b"\0" * STEP_BYTES, os.urandom(100) * (STEP_BYTES // 50)],
    ids=["empty", "letter", "bomb", "noise", "step", "repeats"],
)
def test_body_in_steps_equals_what_was_compressed(compress: type[bytes], text: bytes) -> None:
    assert inflated(compress(text)) == text


def test_members_are_joined_up_to_their_bound() -> None:
    text = os.urandom(BLOCK_BYTES // 3)
    member = gzip.compress(text)
    assert inflated(member * MAX_MEMBERS) == text * MAX_MEMBERS
    with pytest.raises(InvalidRequestError, match="more than 16 members"):
        inflated(member * (MAX_MEMBERS + 1))


@pytest.mark.parametrize("cut", [1, 4, 9, 1_000])
def test_incomplete_body_is_refused(cut: int) -> None:
    with pytest.raises(InvalidRequestError, match="incomplete"):
        inflated(gzip.compress(os.urandom(BLOCK_BYTES))[:-cut])


def test_body_of_another_encoding_is_refused() -> None:
    with pytest.raises(InvalidRequestError, match="does not match"):
        inflated(b'{"model": "any"}')


def test_body_above_limit_is_refused() -> None:
    body = gzip.compress(b"\0" * LIMIT)
    assert len(inflated(body, LIMIT)) == LIMIT
    with pytest.raises(BodyTooLargeError):
        inflated(body, LIMIT - 1)
