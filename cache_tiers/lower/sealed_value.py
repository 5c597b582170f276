"""One block, or a part of a large one, as a value outside the process: a fixed header, then the payload of the pool.

    offset  bytes  field
    0       4      magic "EbbK"
    4       2      version of this format, little-endian
    6       2      bytes of the header
    8       8      length of the payload in bytes, little-endian
    16      16     fingerprint of what may change a bit of the payload: model, dtype, layout, block size, kernels
    32      32     the block's key, or the key derived from it for this part
    64      32     BLAKE3 over all of the above and the payload, keyed with the server's secret

A reader accepts only a payload that was written under this key, for this model, by a holder of the secret. This detects
damage, truncation, mix-ups, and writers with access to the server but not to the secret.
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
    """Reason why a value that was found is not used."""

    TYPE = "the key does not hold a string"
    LENGTH = "wrong length"
    MAGIC = "not a block"
    VERSION = "another format version"
    FINGERPRINT = "a block of another model"
    KEY = "the value of another key"
    MAC = "damaged, or written with another secret"
    UNREADABLE = "the medium cannot read it"


def fingerprint_of(header: bytes) -> bytes | None:
    """Return the fingerprint that a header claims; None if the header is incomplete."""
    if len(header) != HEADER_BYTES:
        return None
    *_, fingerprint, _key = _FIELDS.unpack_from(header)
    return bytes(fingerprint)


def payload_bytes_of(header: bytes) -> int | None:
    """Return the length of the payload that a header claims; None if the header is incomplete."""
    if len(header) != HEADER_BYTES:
        return None
    _, _, _, length, *_ = _FIELDS.unpack_from(header)
    return int(length)


class BlockSeal:
    """Headers of one model's blocks: written and checked with the server's secret.

    fingerprint: that of the model.
    """

    def __init__(self, secret: bytes, fingerprint: bytes) -> None:
        """Create the seal. `secret` is the server's, of any length; `fingerprint` has FINGERPRINT_BYTES bytes."""
        if len(fingerprint) != FINGERPRINT_BYTES:
            raise ValueError(f"a fingerprint has {FINGERPRINT_BYTES} bytes, not {len(fingerprint)}")
        self._mac_key = blake3(secret, derive_key_context=_MAC_KEY_CONTEXT).digest()
        self.fingerprint = fingerprint

    def header(self, key: bytes, payload: memoryview) -> bytes:
        """Return the header that precedes `payload`."""
        fields = _FIELDS.pack(MAGIC, VERSION, HEADER_BYTES, payload.nbytes, self.fingerprint, key)
        return fields + self._mac(fields, payload)

    def check_header(
        self, key: bytes, header: bytes | bytearray, value_bytes: int, payload_bytes: int
    ) -> Reject | None:
        """Check that a value can hold the payload of `key`. Return None if it can.

        header: the first HEADER_BYTES of the value, or less if the value is shorter.
        value_bytes: length of the whole value.
        payload_bytes: length of the payload.
        """
        if len(header) < HEADER_BYTES:
            return Reject.LENGTH
        magic, version, header_bytes, length, fingerprint, named = _FIELDS.unpack_from(header)
        if magic != MAGIC:
            return Reject.MAGIC
        if version != VERSION or header_bytes != HEADER_BYTES:
            return Reject.VERSION
        if fingerprint != self.fingerprint:
            return Reject.FINGERPRINT
        if named != key:
            return Reject.KEY
        if length != payload_bytes or value_bytes != HEADER_BYTES + payload_bytes:
            return Reject.LENGTH
        return None

    def check_payload(self, header: bytes | bytearray, payload: memoryview) -> Reject | None:
        """Check that `payload` was sealed with `header`, which passed `check_header`. Return None if it was."""
        mac = self._mac(bytes(header[: _FIELDS.size]), payload)
        return None if compare_digest(mac, header[_FIELDS.size :]) else Reject.MAC

    def _mac(self, fields: bytes, payload: memoryview) -> bytes:
        return blake3(fields, key=self._mac_key).update(payload).digest()
