import random

import pytest

from cache_tiers.redis.value import HEADER_BYTES, Reject, check_header, check_payload, pack_header

KEY = bytes(range(32))
PAYLOAD = random.Random(1).randbytes(4096)


def verify(key: bytes, value: bytes, payload_bytes: int = len(PAYLOAD)) -> Reject | None:
    """What a reader concludes from a whole value."""
    header, payload = value[:HEADER_BYTES], value[HEADER_BYTES:]
    return check_header(header, len(value), payload_bytes) or check_payload(key, header, memoryview(payload))


@pytest.fixture
def value() -> bytes:
    return pack_header(KEY, memoryview(PAYLOAD)) + PAYLOAD


def test_what_was_packed_is_accepted(value: bytes) -> None:
    assert verify(KEY, value) is None


def test_any_flipped_bit_is_noticed(value: bytes) -> None:
    bits = random.Random(2).sample(range(HEADER_BYTES * 8, len(value) * 8), 500)
    for bit in [*range(HEADER_BYTES * 8), *bits]:
        damaged = bytearray(value)
        damaged[bit // 8] ^= 1 << bit % 8
        assert verify(KEY, bytes(damaged)) is not None, f"bit {bit}"


@pytest.mark.parametrize("length", [0, 1, HEADER_BYTES - 1, HEADER_BYTES, HEADER_BYTES + 1, HEADER_BYTES + 4095])
def test_a_truncated_value_has_the_wrong_length(value: bytes, length: int) -> None:
    assert verify(KEY, value[:length]) is Reject.LENGTH


def test_a_value_with_something_after_it_has_the_wrong_length(value: bytes) -> None:
    assert verify(KEY, value + b"x") is Reject.LENGTH


def test_a_block_of_another_size_has_the_wrong_length(value: bytes) -> None:
    assert verify(KEY, value, payload_bytes=8192) is Reject.LENGTH


def test_the_value_of_another_key_is_no_hit(value: bytes) -> None:
    assert verify(bytes(32), value) is Reject.DIGEST


def test_a_foreign_value_and_another_version_are_told_apart(value: bytes) -> None:
    assert verify(KEY, b"x" * len(value)) is Reject.MAGIC
    assert verify(KEY, value[:4] + b"\x00\x00" + value[6:]) is Reject.VERSION
    assert verify(KEY, value[:4] + b"\x02\x00" + value[6:]) is Reject.VERSION
