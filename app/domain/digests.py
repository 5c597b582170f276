"""Digests under which secrets are stored and found."""

import hashlib


def digest_of(secret: str) -> bytes:
    """Return the hash that is stored for a secret, or for an id that may be long.

    A plain hash is enough: secrets are drawn, or long, so that they cannot be searched.
    """
    return hashlib.sha256(secret.encode()).digest()
