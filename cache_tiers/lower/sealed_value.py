"""One block, or a part of a large one, as a value outside the process: a fixed header, then the encrypted payload.

    offset  bytes  field
    0       4      magic "EbbK"
    4       2      version of this format, little-endian
    6       2      bytes of the header
    8       8      length of the payload in bytes, little-endian
    16      16     fingerprint of what may change a bit of the payload: model, dtype, layout, block size, kernels
    32      8      owner of the block
    40      32     the block's key, or the key derived from it for this part
    72      12     random nonce
    84      16     tag of AES-GCM over all of the above and the payload

The payload is encrypted with AES-256-GCM. The key follows from the server's secret and the owner, so a value of one
owner does not open as that of another. A reader accepts only a payload that was sealed under this key, for this model,
by a holder of the secret. This detects damage, truncation, mix-ups, and writers with access to the server but not to
the secret. No reader without the secret learns anything of the payload. Why: docs/decisions/sealed-values.md.
"""

import os
import struct
from enum import Enum
from typing import Final

from blake3 import blake3
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from cache_tiers.owners.block_key import KEY_BYTES, OWNER_BYTES, Owner

MAGIC: Final = b"EbbK"
VERSION: Final = 3
FINGERPRINT_BYTES: Final = 16
TAG_BYTES: Final = 16
_NONCE_BYTES: Final = 12

_FIELDS = struct.Struct(f"<4sHHQ{FINGERPRINT_BYTES}s{OWNER_BYTES}s{KEY_BYTES}s{_NONCE_BYTES}s")
HEADER_BYTES: Final = _FIELDS.size + TAG_BYTES

_CONTEXT: Final = "Ebb 2026-11-30 sealing of KV blocks"


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
    return bytes(_FIELDS.unpack_from(header)[4])


def payload_bytes_of(header: bytes) -> int | None:
    """Return the length of the payload that a header claims; None if the header is incomplete."""
    if len(header) != HEADER_BYTES:
        return None
    _, _, _, length, *_ = _FIELDS.unpack_from(header)
    return int(length)


class BlockSeal:
    """Seal of one model's blocks, made and opened with the server's secret.

    fingerprint: that of the model.
    """

    def __init__(self, secret: bytes, fingerprint: bytes) -> None:
        """Create the seal. `secret` is the server's, of any length; `fingerprint` has FINGERPRINT_BYTES bytes."""
        if len(fingerprint) != FINGERPRINT_BYTES:
            raise ValueError(f"a fingerprint has {FINGERPRINT_BYTES} bytes, not {len(fingerprint)}")
        self._root = blake3(secret, derive_key_context=_CONTEXT).digest()
        self.fingerprint = fingerprint

    def seal(self, key: bytes, owner: Owner, payload: memoryview, sealed: memoryview) -> bytes:
        """Encrypt `payload` into `sealed`, and return the header.

        sealed: TAG_BYTES longer than the payload, and needed without these bytes, since the header has the tag.
        """
        nonce = os.urandom(_NONCE_BYTES)
        fields = _FIELDS.pack(MAGIC, VERSION, HEADER_BYTES, payload.nbytes, self.fingerprint, owner, key, nonce)
        self._cipher(owner).encrypt_into(nonce, payload, fields, sealed)
        return fields + sealed[-TAG_BYTES:]

    def check_header(
        self, key: bytes, owner: Owner, header: bytes | bytearray, value_bytes: int, payload_bytes: int
    ) -> Reject | None:
        """Check that a value can hold the payload of the owner's `key`. Return None if it can.

        header: the first HEADER_BYTES of the value, or less if the value is shorter.
        value_bytes: length of the whole value.
        payload_bytes: length of the payload.
        """
        if len(header) < HEADER_BYTES:
            return Reject.LENGTH
        magic, version, header_bytes, length, fingerprint, *named, _nonce = _FIELDS.unpack_from(header)
        if magic != MAGIC:
            return Reject.MAGIC
        if version != VERSION or header_bytes != HEADER_BYTES:
            return Reject.VERSION
        if fingerprint != self.fingerprint:
            return Reject.FINGERPRINT
        if named != [owner, key]:
            return Reject.KEY
        if length != payload_bytes or value_bytes != HEADER_BYTES + payload_bytes:
            return Reject.LENGTH
        return None

    def open(self, header: bytes | bytearray, sealed: memoryview, payload: memoryview) -> Reject | None:
        """Decrypt `sealed` into `payload`. Return None if it was sealed with `header`, which passed `check_header`.

        Otherwise `payload` holds garbage.

        sealed: TAG_BYTES longer than the payload. The bytes at its end are overwritten.
        """
        owner, _key, nonce = _FIELDS.unpack_from(header)[-3:]
        sealed[-TAG_BYTES:] = header[_FIELDS.size :]
        try:
            self._cipher(owner).decrypt_into(nonce, sealed, header[: _FIELDS.size], payload)
        except InvalidTag:
            return Reject.MAC
        return None

    def check_value(self, key: bytes, value: bytes) -> Reject | None:
        """Check a whole value that is stored under `key`, of any owner. Return None if it can be used."""
        header, length = value[:HEADER_BYTES], len(value) - HEADER_BYTES
        owner = Owner(_FIELDS.unpack_from(header)[5]) if length >= 0 else Owner(b"")
        reject = self.check_header(key, owner, header, len(value), length)
        if reject is not None:
            return reject
        sealed = memoryview(bytearray(value[HEADER_BYTES:] + bytes(TAG_BYTES)))
        return self.open(header, sealed, memoryview(bytearray(length)))

    def _cipher(self, owner: Owner) -> AESGCM:
        return AESGCM(blake3(owner, key=self._root).digest())
