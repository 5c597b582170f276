"""A SAML provider: logins that begin here, and the answers that the browser brings by POST.

The POST comes from the provider's page, so the browser sends no cookie with it. A verified answer is therefore kept for
a minute under a secret. With the secret the browser comes back by GET, and with the cookie of the attempt, which the
answer must match.
"""

import secrets
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlsplit

from app.accounts.attempts import SECRET_BYTES, Attempt
from app.accounts.errors import LoginRefusedError
from app.accounts.login_provider import ANSWER
from app.accounts.login_turns import LoginTurns, Place
from app.accounts.saml.identity_provider import IdentityProvider
from app.accounts.saml.response import Assertion, verified_assertion
from app.accounts.saml.service import SamlService
from app.tenants.person import Identity

KEPT_SECONDS: Final = 60.0
MAX_TEXT: Final = 255
MAX_GROUPS: Final = 256
ID_PREFIX: Final = "_"
"""Start of ids, which XML does not let begin with a digit."""

NAME_ATTRIBUTES: Final = (
    "displayName",
    "urn:oid:2.16.840.1.113730.3.1.241",
    "http://schemas.microsoft.com/identity/claims/displayname",
    "name",
    "http://schemas.xmlsoap.org/ws/2005/05/identity/claims/name",
    "cn",
    "urn:oid:2.5.4.3",
)
EMAIL_ATTRIBUTES: Final = (
    "mail",
    "email",
    "urn:oid:0.9.2342.19200300.100.1.3",
    "http://schemas.xmlsoap.org/ws/2005/05/identity/claims/emailaddress",
)


@dataclass(frozen=True, slots=True)
class SamlPlan:
    """The login as the settings describe it.

    subject_attribute: attribute that names the person; "" for the NameID.
    """

    provider: IdentityProvider
    service: SamlService
    groups_attribute: str = "groups"
    subject_attribute: str = ""


class SamlProvider:
    """Owner of the verified answers that wait for their browser, and of the ids of answers that came."""

    def __init__(self, plan: SamlPlan, clock: Callable[[], float] = time.time) -> None:
        self.service = plan.service
        self.issuer = plan.provider.entity_id
        self._of = plan
        self._clock = clock
        self._kept: OrderedDict[str, tuple[Assertion, float]] = OrderedDict()
        self._came: dict[str, float] = {}
        self._turns = LoginTurns(at_once=1)

    @property
    def label(self) -> str:
        """Name of the provider for the page: its host."""
        return urlsplit(self._of.provider.login_url).hostname or self._of.provider.entity_id

    async def authorization_url(self, attempt: Attempt) -> str:
        """Return the address at which a person logs in."""
        return self.service.request_url(self._of.provider.login_url, ID_PREFIX + attempt.state)

    async def receive(self, text: str, place: Place) -> str:
        """Keep the answer that a browser brings, and return the secret with which it comes back.

        text: the response in the form in which it is posted.
        place: where the answer waits for its turn to be verified.

        Raises:
            LoginRefusedError: the answer is not valid, or came before.
            OverloadedError: too many answers wait to be verified.
        """
        now = self._clock()
        assertion = await self._turns.run(place, lambda: verified_assertion(text, self._of.provider, self.service, now))
        self._forget_before(now)
        if assertion.id in self._came:
            raise LoginRefusedError("The response of the login provider came before", "expired")
        self._came[assertion.id] = assertion.expires_at
        secret = secrets.token_urlsafe(SECRET_BYTES)
        self._kept[secret] = (assertion, now + KEPT_SECONDS)
        return secret

    def state_of(self, query: Mapping[str, str]) -> str:
        """Return the state of the attempt that a kept answer belongs to; "" if there is no such answer."""
        self._forget_before(self._clock())
        kept = self._kept.get(query.get(ANSWER, ""))
        return kept[0].in_response_to.removeprefix(ID_PREFIX) if kept is not None else ""

    async def identity_of(self, query: Mapping[str, str], attempt: Attempt) -> Identity:
        """Return the person of a kept answer, which ends. Raises LoginRefusedError."""
        kept = self._kept.pop(query.get(ANSWER, ""), None)
        if kept is None or kept[0].in_response_to != ID_PREFIX + attempt.state:
            raise LoginRefusedError("The answer is not one to the login that this browser began", "expired")
        return self._identity(kept[0])

    async def end_session_url(self) -> str | None:
        """Return None: a logout here does not end the session at the provider."""
        return None

    def _identity(self, assertion: Assertion) -> Identity:
        name = self._of.subject_attribute
        subject = _first(assertion, (name,)) if name else assertion.subject
        if not subject.isprintable() or not 0 < len(subject) <= MAX_TEXT:
            raise LoginRefusedError(f"The response of the login provider has no lasting name of the person ({name})")
        groups = [
            group for group in assertion.attributes.get(self._of.groups_attribute, ()) if 0 < len(group) <= MAX_TEXT
        ]
        return Identity(
            self.issuer,
            subject,
            _first(assertion, NAME_ATTRIBUTES),
            _first(assertion, EMAIL_ATTRIBUTES),
            tuple(groups[:MAX_GROUPS]),
        )

    def _forget_before(self, now: float) -> None:
        self._came = {name: at for name, at in self._came.items() if at > now}
        while self._kept and next(iter(self._kept.values()))[1] <= now:
            self._kept.popitem(last=False)


def _first(assertion: Assertion, names: tuple[str, ...]) -> str:
    values = (value for name in names for value in assertion.attributes.get(name, ()))
    return "".join(filter(str.isprintable, next(values, "")))[:MAX_TEXT]
