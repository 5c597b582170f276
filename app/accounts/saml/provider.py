"""A SAML provider: requests for logins, and the people that its answers name."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlsplit

from app.accounts.attempts import Attempt
from app.accounts.errors import LoginRefusedError
from app.accounts.login_turns import LoginLine, LoginTurns
from app.accounts.saml.identity_provider import IdentityProvider
from app.accounts.saml.response import Assertion, verified_assertion
from app.accounts.saml.service import SamlService
from app.storage.saml_answers import SamlAnswer
from app.tenants.person import Identity

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
    """The provider, and the turns in which its answers are verified."""

    def __init__(self, plan: SamlPlan, clock: Callable[[], float] = time.time) -> None:
        self.service = plan.service
        self.issuer = plan.provider.entity_id
        self._of = plan
        self._clock = clock
        self._turns = LoginTurns(at_once=1)

    @property
    def label(self) -> str:
        """Name of the provider for the page: its host."""
        return urlsplit(self._of.provider.login_url).hostname or self._of.provider.entity_id

    def authorization_url(self, attempt: Attempt) -> str:
        """Return the address at which a person logs in."""
        return self.service.request_url(self._of.provider.login_url, ID_PREFIX + attempt.state)

    async def verified(self, text: str, place: LoginLine) -> SamlAnswer:
        """Return the contents of a signed answer.

        text: the response in the form in which it is posted.
        place: where the answer waits for its turn to be verified.

        Raises:
            LoginRefusedError: the answer is not valid.
            OverloadedError: too many answers wait to be verified.
        """
        now = self._clock()
        found = await self._turns.run(place, lambda: verified_assertion(text, self._of.provider, self.service, now))
        state = found.in_response_to.removeprefix(ID_PREFIX)
        return SamlAnswer(found.id, state, self._identity(found), found.expires_at)

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


def _first(assertion: Assertion, names: tuple[str, ...]) -> str:
    values = (value for name in names for value in assertion.attributes.get(name, ()))
    return "".join(filter(str.isprintable, next(values, "")))[:MAX_TEXT]
