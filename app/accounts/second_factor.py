"""Second factors of logins: codes of six digits that change every 30 seconds (RFC 6238), and recovery codes."""

import base64
import hashlib
import secrets
import time
from typing import Final

from cryptography.hazmat.primitives.hashes import SHA1
from cryptography.hazmat.primitives.twofactor import InvalidToken
from cryptography.hazmat.primitives.twofactor.totp import TOTP

SECRET_BYTES: Final = 20
DIGITS: Final = 6
STEP_SECONDS: Final = 30
SKEW_STEPS: Final = 1
"""Steps before and after the current one whose codes are accepted, for clocks that differ and people who type."""

RECOVERY_CODES: Final = 10
RECOVERY_BYTES: Final = 10


def new_secret() -> bytes:
    """Draw the secret that the person's device shares with the server."""
    return secrets.token_bytes(SECRET_BYTES)


def secret_text(secret: bytes) -> str:
    """Return a secret as people type it into an authenticator."""
    return base64.b32encode(secret).decode()


def setup_uri(secret: bytes, name: str, site: str) -> str:
    """Return the address that authenticators read from a QR code.

    name, site: the account and the server, as the authenticator lists them.
    """
    return _totp(secret).get_provisioning_uri(name, site)


def step_of(secret: bytes, code: str, now: float | None = None) -> int | None:
    """Return the step whose code this is; None if it is none of the accepted ones.

    now: Unix seconds; None means the current time.
    """
    current = int(time.time() if now is None else now) // STEP_SECONDS
    for step in range(current - SKEW_STEPS, current + SKEW_STEPS + 1):
        try:
            _totp(secret).verify(code.encode(), step * STEP_SECONDS)
        except InvalidToken:
            continue
        return step
    return None


def new_recovery_codes() -> list[str]:
    """Draw codes that replace the device, in groups of four characters."""
    texts = [base64.b32encode(secrets.token_bytes(RECOVERY_BYTES)).decode().lower() for _ in range(RECOVERY_CODES)]
    return ["-".join(text[at : at + 4] for at in range(0, len(text), 4)) for text in texts]


def recovery_digest(code: str) -> str:
    """Return the digest of a recovery code, however its groups and its case are written.

    The codes have 80 random bits, so a fast digest protects them.
    """
    return hashlib.sha256(code.replace("-", "").replace(" ", "").lower().encode()).hexdigest()


def _totp(secret: bytes) -> TOTP:
    return TOTP(secret, DIGITS, SHA1(), STEP_SECONDS)
