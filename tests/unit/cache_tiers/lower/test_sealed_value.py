import random
import struct
from itertools import cycle, islice

import pytest

from cache_tiers.lower.sealed_value import FINGERPRINT_BYTES, HEADER_BYTES, TAG_BYTES, BlockSeal, Reject
from cache_tiers.owners.block_key import Owner
from tests.mutations import MUTATIONS
from tests.sizes import Size

KEY = bytes(range(32))
OWNER = Owner(b"somebody")
PAYLOAD = random.Random(1).randbytes(4096)
MODEL = bytes(range(100, 100 + FINGERPRINT_BYTES))
SEAL = BlockSeal(b"secret", MODEL)


def sealed(payload: bytes = PAYLOAD, *, key: bytes = KEY, owner: Owner = OWNER, seal: BlockSeal = SEAL) -> bytes:
    room = memoryview(bytearray(len(payload) + TAG_BYTES))
    return seal.seal(key, owner, memoryview(payload), room) + room[:-TAG_BYTES]


def opened(value: bytes, *, key: bytes = KEY, owner: Owner = OWNER, nbytes: int = len(PAYLOAD)) -> bytes | Reject:
    """Return the payload of a whole value, as a reader does, or the reason to reject it."""
    header, room = value[:HEADER_BYTES], memoryview(bytearray(value[HEADER_BYTES:] + bytes(TAG_BYTES)))
    payload = memoryview(bytearray(nbytes))
    return (
        SEAL.check_header(key, owner, header, len(value), nbytes) or SEAL.open(header, room, payload) or bytes(payload)
    )


@pytest.mark.parametrize("nbytes", [0, 1, 15, 4095, 4096])
def test_payload_is_what_was_sealed(nbytes: int) -> None:
    assert opened(sealed(PAYLOAD[:nbytes]), nbytes=nbytes) == PAYLOAD[:nbytes]
    assert SEAL.check_value(KEY, sealed(PAYLOAD[:nbytes])) is None


def test_value_does_not_show_its_payload() -> None:
    value = sealed(bytes(4096))
    assert len({value[at : at + 16] for at in range(HEADER_BYTES, len(value) - 15)}) == 4096 - 15
    assert value[HEADER_BYTES:] != sealed(bytes(4096))[HEADER_BYTES:], "equal payloads are told apart by their nonces"


def test_every_flipped_bit_is_rejected() -> None:
    value = bytearray(sealed(PAYLOAD[:128]))
    for bit in range(8 * len(value)):
        value[bit // 8] ^= 1 << bit % 8
        assert isinstance(opened(bytes(value), nbytes=128), Reject), bit
        assert SEAL.check_value(KEY, bytes(value)) is not None, bit
        value[bit // 8] ^= 1 << bit % 8
    assert opened(bytes(value), nbytes=128) == PAYLOAD[:128]


@pytest.mark.parametrize("length", [0, 1, HEADER_BYTES - 1, HEADER_BYTES, HEADER_BYTES + 1, HEADER_BYTES + 4095])
def test_truncated_value_has_wrong_length(length: int) -> None:
    assert opened(sealed()[:length]) is Reject.LENGTH
    assert SEAL.check_value(KEY, sealed()[:length]) is Reject.LENGTH


def test_value_with_trailing_bytes_has_wrong_length() -> None:
    assert opened(sealed() + b"x") is Reject.LENGTH
    assert SEAL.check_value(KEY, sealed() + b"x") is Reject.LENGTH


def test_block_of_other_size_has_wrong_length() -> None:
    assert opened(sealed(), nbytes=8192) is Reject.LENGTH
    assert opened(sealed(PAYLOAD[:2048])) is Reject.LENGTH


def test_value_is_bound_to_key_owner_model_and_secret() -> None:
    assert opened(sealed(), key=bytes(32)) is Reject.KEY
    assert opened(sealed(), owner=Owner(b"stranger")) is Reject.KEY
    assert opened(sealed(seal=BlockSeal(b"secret", bytes(FINGERPRINT_BYTES)))) is Reject.FINGERPRINT
    assert opened(sealed(seal=BlockSeal(b"guessed", MODEL))) is Reject.MAC


def test_each_owner_has_a_separate_key() -> None:
    of_owner, of_stranger = sealed(), sealed(owner=Owner(b"stranger"))
    assert SEAL.check_value(KEY, of_stranger) is None
    assert SEAL.check_value(KEY, of_stranger[:32] + OWNER + of_stranger[40:]) is Reject.MAC
    assert SEAL.check_value(KEY, of_owner[:32] + b"stranger" + of_owner[40:]) is Reject.MAC


def test_foreign_value_and_other_version_are_distinguished() -> None:
    assert opened(b"x" * len(sealed())) is Reject.MAGIC
    for version in (0, 1, 2, 4):
        assert opened(sealed()[:4] + version.to_bytes(2, "little") + sealed()[6:]) is Reject.VERSION


def test_value_of_version_2_has_another_version() -> None:
    value = struct.pack("<4sHHQ16s32s32s", b"EbbK", 2, 96, len(PAYLOAD), MODEL, KEY, bytes(32)) + PAYLOAD
    assert opened(value) is SEAL.check_value(KEY, value) is Reject.VERSION


def test_header_does_not_fit_another_payload() -> None:
    value, other = sealed(), sealed(bytes(4096))
    assert opened(value[:HEADER_BYTES] + other[HEADER_BYTES:]) is Reject.MAC
    assert opened(other[:HEADER_BYTES] + value[HEADER_BYTES:]) is Reject.MAC


def replay(source: random.Random, _: bytes) -> bytes:
    return sealed(key=source.randbytes(32))


def guess(source: random.Random, _: bytes) -> bytes:
    return sealed(seal=BlockSeal(source.randbytes(16), MODEL))


def test_mutated_value_is_rejected(size: Size) -> None:
    source, value = random.Random(2), sealed()
    for mutate in islice(cycle((*MUTATIONS, replay, guess)), size.pick(small=5_000, full=100_000)):
        changed = mutate(source, value)
        assert (opened(changed) == PAYLOAD) == (changed == value), mutate.__name__
