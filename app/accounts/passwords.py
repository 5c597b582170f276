"""Passwords: rules, digests, and the delay after wrong ones.

A digest takes about a tenth of a second and 64 MiB on a thread: Argon2id, the second option that RFC 9106 recommends.
"""

import os
import secrets
import time
from collections import OrderedDict
from collections.abc import Callable
from typing import Final

from cryptography.exceptions import InvalidKey
from cryptography.hazmat.primitives.kdf.argon2 import Argon2id

from app.accounts.login_turns import LoginTurns
from app.domain.bounds import MAX_PASSWORD, MIN_PASSWORD
from engine.errors import InvalidRequestError, OverloadedError

INITIAL_BYTES: Final = 12
"""Random bytes of an initial password."""

SALT_BYTES: Final = 16
DIGEST_BYTES: Final = 32
ITERATIONS: Final = 3
LANES: Final = 4
MEMORY_KIB: Final = 64 << 10

FREE_FAILURES: Final = 5
MAX_DELAY_SECONDS: Final = 900
MAX_NAMES: Final = 4096
"""Names whose wrong passwords are remembered. The one that failed first is forgotten first."""


class Passwords:
    """Computation of digests, at most one at a time."""

    def __init__(self, *, memory_kib: int = MEMORY_KIB) -> None:
        """Prepare the computation.

        memory_kib: memory of new digests. An existing digest names its own.
        """
        self._memory_kib = memory_kib
        self._turns = LoginTurns(at_once=1)

    async def digest(self, password: str) -> str:
        """Return the digest of a password, with its salt and its parameters. Raises OverloadedError."""
        return await self._turns.run(lambda: self._argon2().derive_phc_encoded(password.encode()))

    async def matches(self, password: str, digest: str | None) -> bool:
        """Return whether a password has this digest. Raises OverloadedError.

        digest: None for an unknown name, which takes as long as a known one.
        """
        if digest is None:
            await self.digest(password)
            return False
        return await self._turns.run(lambda: _matches(password, digest))

    def _argon2(self) -> Argon2id:
        salt = os.urandom(SALT_BYTES)
        return Argon2id(
            salt=salt, length=DIGEST_BYTES, iterations=ITERATIONS, lanes=LANES, memory_cost=self._memory_kib
        )


class FailedLogins:
    """Delays after wrong passwords and codes, by the name of the person. They end with the process.

    Five failures are free. Each one more doubles the delay, up to 15 minutes. A login that works ends the count.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._failures: OrderedDict[str, tuple[int, float]] = OrderedDict()

    def check(self, name: str) -> None:
        """Raise OverloadedError while logins with this name have to wait."""
        count, failed_at = self._failures.get(name.lower(), (0, 0.0))
        if count < FREE_FAILURES:
            return
        delay = min(MAX_DELAY_SECONDS, 2 ** (count - FREE_FAILURES + 1))
        if (wait := failed_at + delay - self._clock()) > 0:
            seconds = int(wait) + 1
            raise OverloadedError(
                f"Too many wrong passwords or codes for this name. Try again in {seconds} s",
                retry_after=seconds,
                code="too_many_failed_logins",
            )

    def note(self, name: str) -> None:
        """Count a failure."""
        count, _ = self._failures.pop(name.lower(), (0, 0.0))
        self._failures[name.lower()] = (count + 1, self._clock())
        if len(self._failures) > MAX_NAMES:
            self._failures.popitem(last=False)

    def forget(self, name: str) -> None:
        """End the count after a login that worked."""
        self._failures.pop(name.lower(), None)


def check_password(password: str, *, param: str) -> str:
    """Return a password that a person has chosen. Raises InvalidRequestError if it is too short or too long.

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
