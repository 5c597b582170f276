"""One block as a Redis value: a fixed header, then the payload as it lies in the pool.

    offset  bytes  field
    0       4      magic "EbbK"
    4       2      version of this format, little-endian
    6       2      zero
    8       8      length of the payload in bytes, little-endian
    16      16     XXH3-128 over the block's key and the payload

The digest covers the key, so a value that was copied to another key is no hit. It guards against damage, truncation and
mix-ups, not against someone who can write to the server.
"""

import struct
from enum import Enum

from xxhash import xxh3_128

MAGIC = b"EbbK"
VERSION = 1

_HEADER = struct.Struct("<4sHHQ16s")
HEADER_BYTES = _HEADER.size


class Reject(Enum):
    """Why a value that was found is not used."""

    TYPE = "the key holds another type than a string"
    LENGTH = "wrong length"
    MAGIC = "not a block"
    VERSION = "another format version"
    DIGEST = "the digest does not match"


def pack_header(key: bytes, payload: memoryview) -> bytes:
    """The header that belongs before `payload`."""
    return _HEADER.pack(MAGIC, VERSION, 0, payload.nbytes, _digest(key, payload))


def check_header(header: bytes | bytearray, value_bytes: int, payload_bytes: int) -> Reject | None:
    """Whether a value of `value_bytes` in all can hold a payload of `payload_bytes`; None means that it can.

    `header`: the first HEADER_BYTES of the value, or less if the value is shorter.
    """
    if len(header) < HEADER_BYTES:
        return Reject.LENGTH
    magic, version, reserved, length, _ = _HEADER.unpack(header)
    if magic != MAGIC:
        return Reject.MAGIC
    if version != VERSION or reserved != 0:
        return Reject.VERSION
    if length != payload_bytes or value_bytes != HEADER_BYTES + payload_bytes:
        return Reject.LENGTH
    return None


def check_payload(key: bytes, header: bytes | bytearray, payload: memoryview) -> Reject | None:
    """Whether `payload` is what was written under `key`; the header passed `check_header`."""
    *_, digest = _HEADER.unpack(header)
    return None if digest == _digest(key, payload) else Reject.DIGEST


def _digest(key: bytes, payload: memoryview) -> bytes:
    state = xxh3_128(key)
    state.update(payload)
    return state.digest()
