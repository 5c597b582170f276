import random
from itertools import cycle, islice

import pytest

from cache_tiers.redis.value import FINGERPRINT_BYTES, HEADER_BYTES, BlockSeal, Reject
from tests.mutations import MUTATIONS
from tests.sizes import Size

KEY = bytes(range(32))
PAYLOAD = random.Random(1).randbytes(4096)
MODEL = bytes(range(100, 100 + FINGERPRINT_BYTES))
SEAL = BlockSeal(b"secret", MODEL)


def sealed(payload: bytes = PAYLOAD, *, key: bytes = KEY, seal: BlockSeal = SEAL) -> bytes:
    return seal.header(key, memoryview(payload)) + payload


def verify(value: bytes, *, key: bytes = KEY, payload_bytes: int = len(PAYLOAD)) -> Reject | None:
    """What a reader concludes from a whole value."""
    header, payload = value[:HEADER_BYTES], value[HEADER_BYTES:]
    return SEAL.check_header(key, header, len(value), payload_bytes) or SEAL.check_payload(header, memoryview(payload))


def test_what_was_sealed_is_accepted() -> None:
    assert verify(sealed()) is None


@pytest.mark.parametrize("length", [0, 1, HEADER_BYTES - 1, HEADER_BYTES, HEADER_BYTES + 1, HEADER_BYTES + 4095])
def test_a_truncated_value_has_the_wrong_length(length: int) -> None:
    assert verify(sealed()[:length]) is Reject.LENGTH


def test_a_value_with_something_after_it_has_the_wrong_length() -> None:
    assert verify(sealed() + b"x") is Reject.LENGTH


def test_a_block_of_another_size_has_the_wrong_length() -> None:
    assert verify(sealed(), payload_bytes=8192) is Reject.LENGTH
    assert verify(sealed(PAYLOAD[:2048]), payload_bytes=4096) is Reject.LENGTH


def test_a_value_is_for_its_key_its_model_and_its_secret_alone() -> None:
    assert verify(sealed(), key=bytes(32)) is Reject.KEY
    assert verify(sealed(seal=BlockSeal(b"secret", bytes(FINGERPRINT_BYTES)))) is Reject.FINGERPRINT
    assert verify(sealed(seal=BlockSeal(b"guessed", MODEL))) is Reject.MAC


def test_a_foreign_value_and_another_version_are_told_apart() -> None:
    assert verify(b"x" * len(sealed())) is Reject.MAGIC
    for version in (0, 1, 3):
        assert verify(sealed()[:4] + version.to_bytes(2, "little") + sealed()[6:]) is Reject.VERSION


def test_no_header_moves_to_another_payload() -> None:
    other = bytes(4096)
    assert verify(sealed()[:HEADER_BYTES] + other) is Reject.MAC
    assert verify(sealed(other)[:HEADER_BYTES] + PAYLOAD) is Reject.MAC


def replay(source: random.Random, _: bytes) -> bytes:
    return sealed(key=source.randbytes(32))


def guess(source: random.Random, value: bytes) -> bytes:
    return BlockSeal(source.randbytes(16), MODEL).header(KEY, memoryview(PAYLOAD)) + value[HEADER_BYTES:]


def test_no_mutation_of_a_value_is_accepted(size: Size) -> None:
    source, value = random.Random(2), sealed()
    for mutate in islice(cycle((*MUTATIONS, replay, guess)), size.pick(small=5_000, full=100_000)):
        changed = mutate(source, value)
        assert (verify(changed) is None) == (changed == value), mutate.__name__
