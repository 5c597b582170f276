"""One block, or a part of a large one, as a Redis value: a fixed header, then the payload as it lies in the pool.

    offset  bytes  field
    0       4      magic "EbbK"
    4       2      version of this format, little-endian
    6       2      bytes of the header
    8       8      length of the payload in bytes, little-endian
    16      16     fingerprint of all that may change a bit of the payload: model, dtype, layout, block size, kernels
    32      32     the block's key, or the one that is derived from it for this part
    64      32     BLAKE3 over all of the above and the payload, keyed with the server's secret

A reader takes a payload for nothing but what was written under this key, for this model, by someone who knows the
secret: damage, truncation and mix-ups are noticed, and so is whoever can write to the server but not read the secret.
Why BLAKE3: docs/decisions/redis-values.md.
"""

import struct
from enum import Enum
from hmac import compare_digest
from typing import Final

from blake3 import blake3

MAGIC: Final = b"EbbK"
VERSION: Final = 2
FINGERPRINT_BYTES: Final = 16
KEY_BYTES: Final = 32

_FIELDS = struct.Struct(f"<4sHHQ{FINGERPRINT_BYTES}s{KEY_BYTES}s")
_MAC_BYTES: Final = 32
HEADER_BYTES: Final = _FIELDS.size + _MAC_BYTES

_MAC_KEY_CONTEXT: Final = "Ebb 2026-11-20 authentication of KV blocks"


class Reject(Enum):
    """Why a value that was found is not used."""

    TYPE = "the key holds another type than a string"
    LENGTH = "wrong length"
    MAGIC = "not a block"
    VERSION = "another format version"
    FINGERPRINT = "a block of another model"
    KEY = "the value of another key"
    MAC = "damaged, or written with another secret"


def fingerprint_of(header: bytes) -> bytes | None:
    """Whose block it says it is; None if it is no whole header."""
    if len(header) != HEADER_BYTES:
        return None
    *_, fingerprint, _key = _FIELDS.unpack_from(header)
    return bytes(fingerprint)


class BlockSeal:
    """Writes and checks the headers of one model's blocks."""

    def __init__(self, secret: bytes, fingerprint: bytes) -> None:
        """secret: of the server, any length. fingerprint: FINGERPRINT_BYTES."""
        if len(fingerprint) != FINGERPRINT_BYTES:
            raise ValueError(f"a fingerprint has {FINGERPRINT_BYTES} bytes, not {len(fingerprint)}")
        self._mac_key = blake3(secret, derive_key_context=_MAC_KEY_CONTEXT).digest()
        self._fingerprint = fingerprint

    def header(self, key: bytes, payload: memoryview) -> bytes:
        """What belongs before `payload`."""
        fields = _FIELDS.pack(MAGIC, VERSION, HEADER_BYTES, payload.nbytes, self._fingerprint, key)
        return fields + self._mac(fields, payload)

    def check_header(
        self, key: bytes, header: bytes | bytearray, value_bytes: int, payload_bytes: int
    ) -> Reject | None:
        """Whether a value of `value_bytes` in all can hold `key`'s payload of `payload_bytes`; None means that it can.

        `header`: the first HEADER_BYTES of the value, or less if the value is shorter.
        """
        if len(header) < HEADER_BYTES:
            return Reject.LENGTH
        magic, version, header_bytes, length, fingerprint, named = _FIELDS.unpack_from(header)
        if magic != MAGIC:
            return Reject.MAGIC
        if version != VERSION or header_bytes != HEADER_BYTES:
            return Reject.VERSION
        if fingerprint != self._fingerprint:
            return Reject.FINGERPRINT
        if named != key:
            return Reject.KEY
        if length != payload_bytes or value_bytes != HEADER_BYTES + payload_bytes:
            return Reject.LENGTH
        return None

    def check_payload(self, header: bytes | bytearray, payload: memoryview) -> Reject | None:
        """Whether `payload` is what was sealed with `header`, which passed `check_header`."""
        mac = self._mac(bytes(header[: _FIELDS.size]), payload)
        return None if compare_digest(mac, header[_FIELDS.size :]) else Reject.MAC

    def _mac(self, fields: bytes, payload: memoryview) -> bytes:
        return blake3(fields, key=self._mac_key).update(payload).digest()
