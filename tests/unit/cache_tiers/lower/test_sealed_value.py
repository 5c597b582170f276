import random
from itertools import cycle, islice

import pytest

from cache_tiers.lower.sealed_value import FINGERPRINT_BYTES, HEADER_BYTES, BlockSeal, Reject
from tests.mutations import MUTATIONS
from tests.sizes import Size

KEY = bytes(range(32))
PAYLOAD = random.Random(1).randbytes(4096)
MODEL = bytes(range(100, 100 + FINGERPRINT_BYTES))
SEAL = BlockSeal(b"secret", MODEL)


def sealed(payload: bytes = PAYLOAD, *, key: bytes = KEY, seal: BlockSeal = SEAL) -> bytes:
    return seal.header(key, memoryview(payload)) + payload


def verify(value: bytes, *, key: bytes = KEY, payload_bytes: int = len(PAYLOAD)) -> Reject | None:
    """Check a whole value as a reader does. None means that the value is accepted."""
    header, payload = value[:HEADER_BYTES], value[HEADER_BYTES:]
    return SEAL.check_header(key, header, len(value), payload_bytes) or SEAL.check_payload(header, memoryview(payload))


def test_sealed_value_is_accepted() -> None:
    assert verify(sealed()) is None


@pytest.mark.parametrize("length", [0, 1, HEADER_BYTES - 1, HEADER_BYTES, HEADER_BYTES + 1, HEADER_BYTES + 4095])
def test_truncated_value_has_wrong_length(length: int) -> None:
    assert verify(sealed()[:length]) is Reject.LENGTH


def test_value_with_trailing_bytes_has_wrong_length() -> None:
    assert verify(sealed() + b"x") is Reject.LENGTH


def test_block_of_other_size_has_wrong_length() -> None:
    assert verify(sealed(), payload_bytes=8192) is Reject.LENGTH
    assert verify(sealed(PAYLOAD[:2048]), payload_bytes=4096) is Reject.LENGTH


def test_value_is_bound_to_key_model_and_secret() -> None:
    assert verify(sealed(), key=bytes(32)) is Reject.KEY
    assert verify(sealed(seal=BlockSeal(b"secret", bytes(FINGERPRINT_BYTES)))) is Reject.FINGERPRINT
    assert verify(sealed(seal=BlockSeal(b"guessed", MODEL))) is Reject.MAC


def test_foreign_value_and_other_version_are_distinguished() -> None:
    assert verify(b"x" * len(sealed())) is Reject.MAGIC
    for version in (0, 1, 3):
        assert verify(sealed()[:4] + version.to_bytes(2, "little") + sealed()[6:]) is Reject.VERSION


def test_header_does_not_fit_another_payload() -> None:
    other = bytes(4096)
    assert verify(sealed()[:HEADER_BYTES] + other) is Reject.MAC
    assert verify(sealed(other)[:HEADER_BYTES] + PAYLOAD) is Reject.MAC


def replay(source: random.Random, _: bytes) -> bytes:
    return sealed(key=source.randbytes(32))


def guess(source: random.Random, value: bytes) -> bytes:
    return BlockSeal(source.randbytes(16), MODEL).header(KEY, memoryview(PAYLOAD)) + value[HEADER_BYTES:]


def test_mutated_value_is_rejected(size: Size) -> None:
    source, value = random.Random(2), sealed()
    for mutate in islice(cycle((*MUTATIONS, replay, guess)), size.pick(small=5_000, full=100_000)):
        changed = mutate(source, value)
        assert (verify(changed) is None) == (changed == value), mutate.__name__
