"""Mutual proof that both ends of a connection know the token, without sending the token.

replica: nonce r       gateway: nonce g, HMAC(token, "gateway", epoch, r, g)       replica  nonce r
    gateway  nonce g, HMAC(token, "gateway", epoch, r, g)
    replica  HMAC(token, "replica", epoch, r, g)
"""

import hmac
import secrets
from typing import Final

TOKEN_BYTES: Final = 32
NONCE_BYTES: Final = 32


class HandshakeError(Exception):
    """The peer does not know the token, or means another epoch."""


def new_token() -> bytes:
    """Return a random token."""
    return secrets.token_bytes(TOKEN_BYTES)


def new_nonce() -> bytes:
    """Return a random nonce."""
    return secrets.token_bytes(NONCE_BYTES)


def gateway_proof(token: bytes, epoch: int, replica_nonce: bytes, gateway_nonce: bytes) -> bytes:
    """Return the proof of the gateway."""
    return _proof(token, b"gateway", epoch, replica_nonce, gateway_nonce)


def replica_proof(token: bytes, epoch: int, replica_nonce: bytes, gateway_nonce: bytes) -> bytes:
    """Return the proof of the replica."""
    return _proof(token, b"replica", epoch, replica_nonce, gateway_nonce)


def check(given: bytes, expected: bytes) -> None:
    """Raise HandshakeError unless the proofs are equal."""
    if not hmac.compare_digest(given, expected):
        raise HandshakeError("the other end does not know the token of this epoch")


def _proof(token: bytes, role: bytes, epoch: int, replica_nonce: bytes, gateway_nonce: bytes) -> bytes:
    # The nonces have one length, so that no two messages are equal.
    message = b"ebb-replica-1:" + role + epoch.to_bytes(8, "little") + replica_nonce + gateway_nonce
    return hmac.digest(token, message, "sha256")
