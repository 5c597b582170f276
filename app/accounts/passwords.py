"""Passwords: rules and digests.

A digest takes about a tenth of a second and 64 MiB on a thread: Argon2id, the second option that RFC 9106 recommends.
"""

import os
import secrets
from typing import Final

from cryptography.exceptions import InvalidKey
from cryptography.hazmat.primitives.kdf.argon2 import Argon2id

from app.accounts.login_turns import LoginLine, LoginTurns
from app.domain.bounds import MAX_PASSWORD, MIN_PASSWORD
from engine.api.errors import InvalidRequestError

INITIAL_BYTES: Final = 12
"""Random bytes of an initial password."""

SALT_BYTES: Final = 16
DIGEST_BYTES: Final = 32
ITERATIONS: Final = 3
LANES: Final = 4
MEMORY_KIB: Final = 64 << 10

ADMINISTRATORS: Final = LoginLine("administrators")


class Passwords:
    """Computation of digests, at most one at a time."""

    def __init__(self, *, memory_kib: int = MEMORY_KIB) -> None:
        """Prepare the computation.

        memory_kib: memory of new digests. An existing digest names its own.
        """
        self._memory_kib = memory_kib
        self._turns = LoginTurns(at_once=1)

    async def digest(self, password: str, place: LoginLine = ADMINISTRATORS) -> str:
        """Return the digest of a password, with its salt and its parameters. Raise as `LoginTurns.run`.

        place: where the computation waits for its turn.
        """
        return await self._turns.run(place, lambda: self._argon2().derive_phc_encoded(password.encode()))

    async def matches(self, password: str, digest: str | None, place: LoginLine) -> bool:
        """Return whether a password has this digest. Raise as `LoginTurns.run`.

        digest: None for an unknown name, which takes as long as a known one.
        place: as for `digest`.
        """
        if digest is None:
            await self.digest(password, place)
            return False
        return await self._turns.run(place, lambda: _matches(password, digest))

    def _argon2(self) -> Argon2id:
        salt = os.urandom(SALT_BYTES)
        return Argon2id(
            salt=salt, length=DIGEST_BYTES, iterations=ITERATIONS, lanes=LANES, memory_cost=self._memory_kib
        )


def check_password(password: str, *, param: str) -> str:
    """Return a password that a person has chosen. Raise InvalidRequestError if it is too short or too long.

    NIST SP 800-63B: the length counts, not the kinds of characters.
    """
    if not MIN_PASSWORD <= len(password) <= MAX_PASSWORD:
        raise InvalidRequestError(
            f"A password must have {MIN_PASSWORD} to {MAX_PASSWORD} characters", param=param, code="password_length"
        )
    return password


def new_password() -> str:
    """Draw an initial password."""
    return secrets.token_urlsafe(INITIAL_BYTES)


def _matches(password: str, digest: str) -> bool:
    try:
        Argon2id.verify_phc_encoded(password.encode(), digest)
    except InvalidKey:
        return False
    return True
