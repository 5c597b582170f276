"""Logins that have begun at the provider: sealed into a cookie, so that the server keeps nothing for strangers.

The cookie ties the answer of the provider to the browser that began. The key derives from the secret file, so another
server with the same file can complete the login.
"""

import base64
import hmac
import json
import secrets
from dataclasses import asdict, dataclass

from cryptography.fernet import Fernet, InvalidToken

from app.accounts.errors import LoginRefusedError

ATTEMPT_SECONDS = 600
SECRET_BYTES = 32


@dataclass(frozen=True, slots=True)
class Attempt:
    """A login that has begun.

    state, nonce, verifier: secrets of OAuth 2.0, of OpenID Connect and of PKCE (RFC 7636).
    next: path on this server to return to.
    """

    state: str
    nonce: str
    verifier: str
    next: str


def new_attempt(path: str) -> Attempt:
    """Draw the secrets of a login that returns to `path`."""
    state, nonce, verifier = (secrets.token_urlsafe(SECRET_BYTES) for _ in range(3))
    return Attempt(state, nonce, verifier, path)


class AttemptSealer:
    """Encryption of attempts, with a key that derives from the secret of the server."""

    def __init__(self, secret: bytes) -> None:
        key = hmac.digest(secret, b"ebb-login-attempts", "sha256")
        self._fernet = Fernet(base64.urlsafe_b64encode(key))

    def seal(self, attempt: Attempt) -> str:
        """Return the value of the cookie."""
        return self._fernet.encrypt(json.dumps(asdict(attempt)).encode()).decode()

    def open(self, cookie: str | None, state: str) -> Attempt:
        """Return the attempt in a cookie, which must have begun with `state`. Raise LoginRefusedError."""
        try:
            attempt = Attempt(**json.loads(self._fernet.decrypt((cookie or "").encode(), ttl=ATTEMPT_SECONDS)))
        except InvalidToken:
            raise LoginRefusedError("This browser has begun no login, or too long ago", "expired") from None
        if not hmac.compare_digest(attempt.state.encode(), state.encode()):
            raise LoginRefusedError("The state is not that of the login that this browser began", "expired")
        return attempt
