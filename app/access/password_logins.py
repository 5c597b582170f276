"""Logins with a password, and with a second factor where the person has one."""

import logging
from dataclasses import dataclass

from app.access.key_ring import KeyRing
from app.accounts.failed_logins import Attempt, FailedLogins, Source
from app.accounts.login_turns import LoginLine
from app.accounts.passwords import Passwords, check_password, new_password
from app.accounts.second_factor import (
    new_recovery_codes,
    new_secret,
    recovery_digest,
    secret_text,
    setup_uri,
    step_of,
)
from app.storage.passwords import PasswordStore, StoredPassword
from app.tenants.person import Person
from engine.api.errors import ClientError, InvalidRequestError

SITE = "Ebb"

logger = logging.getLogger(__name__)


class WrongLoginError(ClientError):
    """401: the name and the password do not belong together, or the code of the second factor is missing or wrong."""

    status = 401


@dataclass(frozen=True, slots=True)
class NewFactor:
    """A second factor to set up.

    secret: as people type it. uri: as a QR code holds it.
    """

    secret: str
    uri: str


@dataclass(frozen=True, slots=True)
class PasswordLogins:
    """People with passwords: their logins, and changes of passwords and second factors."""

    store: PasswordStore
    ring: KeyRing
    passwords: Passwords
    failed: FailedLogins

    async def knows(self, name: str) -> bool:
        """Return whether a person with this name has a password here."""
        return await self.store.find(name) is not None

    async def log_in(self, name: str, password: str, code: str, source: Source) -> Person:
        """Return the person with this name and password.

        code: of the second factor; "" if none was given.

        Raises:
            WrongLoginError: `wrong_password`, `second_factor_needed` or `wrong_code`.
            OverloadedError: too many failures with this name or from this address, or too many logins at once.
        """
        stored = await self.store.find(name)
        with self.failed.attempt(name.lower(), source) as attempt:
            digest = stored.digest if stored is not None else None
            if not await self.passwords.matches(password, digest, source.place):
                attempt.is_wrong = True
                raise WrongLoginError("The name or the password is wrong", code="wrong_password")
            assert stored is not None
            await self._check_code(stored, code, attempt)
        await self.ring.read()
        return self.ring.people.by_id[stored.person_id]

    async def add(self, name: str, *, admin: bool) -> tuple[Person, str]:
        """Create a person, and return the initial password as well. Raise ConflictError: the name is taken."""
        password = new_password()
        person = await self.store.add(name, await self.passwords.digest(password), admin=admin)
        await self.ring.read()
        return person, password

    async def reset(self, person_id: str) -> str:
        """Replace a person's password by an initial one, end the logins, and return the password.

        The second factor goes too. Raise NotFoundError for people without a password here.
        """
        password = new_password()
        await self.store.reset(person_id, await self.passwords.digest(password))
        await self.ring.read()
        return password

    async def change(self, person: Person, old: str, new: str, session_id: str) -> None:
        """Replace the person's own password, and end the logins except `session_id`.

        Raise InvalidRequestError: a password is wrong, too short or too long. Raise OverloadedError.
        """
        check_password(new, param="new_password")
        await self._check_own(person, old, "old_password", session_id)
        await self.store.change(
            person.id, await self.passwords.digest(new, LoginLine(f"logins of {person.id}")), session_id
        )
        await self.ring.read()

    async def begin_factor(self, person: Person, password: str, session_id: str) -> NewFactor:
        """Draw a second factor, which logins require once it is confirmed.

        The password keeps a stolen login from locking the person out. Raise ConflictError; InvalidRequestError: the
        password is wrong; OverloadedError.
        """
        await self._check_own(person, password, "password", session_id)
        secret = new_secret()
        await self.store.begin_factor(person.id, secret)
        return NewFactor(secret_text(secret), setup_uri(secret, person.shown_name, SITE))

    async def confirm_factor(self, person: Person, code: str) -> list[str]:
        """Have logins require the second factor, and return the recovery codes. Raise InvalidRequestError."""
        stored = await self.store.find(person.identity.subject)
        step = step_of(stored.factor.secret, code) if stored is not None and stored.factor is not None else None
        codes = new_recovery_codes()
        digests = [recovery_digest(each) for each in codes]
        if step is None or not await self.store.confirm_factor(person.id, step, digests):
            raise InvalidRequestError("The code is wrong or too old: enter the current one", param="code")
        return codes

    async def remove_factor(self, person: Person, password: str, session_id: str) -> None:
        """Remove the person's second factor. Raise InvalidRequestError: the password is wrong; OverloadedError."""
        await self._check_own(person, password, "password", session_id)
        await self.store.remove_factor(person.id)

    async def has_factor(self, person: Person) -> bool:
        """Return whether the person's logins require a second factor."""
        stored = await self.store.find(person.identity.subject)
        return stored is not None and stored.factor is not None and stored.factor.is_confirmed

    async def has_initial_password(self, person: Person) -> bool:
        """Return whether an administrator set the person's password."""
        stored = await self.store.find(person.identity.subject)
        return stored is not None and stored.is_initial

    async def _check_code(self, stored: StoredPassword, code: str, attempt: Attempt) -> None:
        factor = stored.factor
        if factor is None or not factor.is_confirmed:
            return
        if not code:
            raise WrongLoginError("Enter the code of your second factor", code="second_factor_needed")
        step = step_of(factor.secret, code)
        if step is not None and await self.store.use_step(stored.person_id, step):
            return
        if await self.store.use_recovery(stored.person_id, recovery_digest(code)):
            logger.info("the person %s logged in with a recovery code", stored.person_id)
            return
        attempt.is_wrong = True
        raise WrongLoginError("The code is wrong, or was used before", code="wrong_code")

    async def _check_own(self, person: Person, password: str, param: str, session_id: str) -> None:
        """Check the password of a person who is logged in. Raise InvalidRequestError, OverloadedError."""
        name = person.identity.subject
        stored = await self.store.find(name)
        source = Source(f"login {session_id}", LoginLine(f"logins of {person.id}"), is_known=True)
        with self.failed.attempt(name, source) as attempt:
            if not await self.passwords.matches(password, stored.digest if stored is not None else None, source.place):
                attempt.is_wrong = True
                raise InvalidRequestError("This is not your password", param=param, code="wrong_password")
