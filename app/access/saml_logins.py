"""Logins at a SAML provider, whose answers the browser brings by POST.

The POST comes from the provider's page, so the browser sends no cookie with it. A verified answer is therefore kept for
two minutes under a secret. With the secret the browser comes back by GET, and with the cookie of the attempt, which the
answer must match. Each of these requests may be to another server of the database.
"""

import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from app.accounts.attempts import SECRET_BYTES, Attempt
from app.accounts.errors import LoginRefusedError
from app.accounts.login_provider import ANSWER, STATE
from app.accounts.login_turns import LoginLine
from app.storage.saml_answers import SamlAnswerStore
from app.tenants.person import Identity

if TYPE_CHECKING:
    from app.accounts.saml.provider import SamlProvider


@dataclass(frozen=True, slots=True)
class SamlLogins:
    """A LoginProvider: the SAML provider, and the answers that wait for their browser."""

    provider: "SamlProvider"
    answers: SamlAnswerStore

    @property
    def label(self) -> str:
        """Name of the provider for the page: its host."""
        return self.provider.label

    async def authorization_url(self, attempt: Attempt) -> str:
        """Return the address at which a person logs in."""
        return self.provider.authorization_url(attempt)

    async def receive(self, text: str, place: LoginLine) -> Mapping[str, str]:
        """Keep the answer that a browser brings, and return the parameters with which it comes back.

        text: the response in the form in which it is posted.
        place: where the answer waits for its turn to be verified.

        Raises:
            LoginRefusedError: the answer is not valid, or came before.
            OverloadedError: too many answers wait to be verified.
            OutageError: the database takes no writes.
        """
        answer = await self.provider.verified(text, place)
        secret = secrets.token_urlsafe(SECRET_BYTES)
        if not await self.answers.keep(answer, secret):
            raise LoginRefusedError("The response of the login provider came before", "expired")
        return {STATE: answer.state, ANSWER: secret}

    async def identity_of(self, query: Mapping[str, str], attempt: Attempt) -> Identity:
        """Return the person of a kept answer, which ends. Raise LoginRefusedError, OutageError."""
        identity = await self.answers.take(query.get(ANSWER, ""), attempt.state)
        if identity is None:
            raise LoginRefusedError("The answer is not one to the login that this browser began", "expired")
        return identity

    async def end_session_url(self) -> str | None:
        """Return None: a logout here does not end the session at the provider."""
        return None
