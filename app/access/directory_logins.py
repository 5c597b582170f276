"""Logins of the people of a directory, with their names and passwords there."""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from app.access.key_ring import KeyRing
from app.access.password_logins import WrongLoginError
from app.accounts.login_turns import LoginTurns
from app.accounts.passwords import FailedLogins
from app.tenants.person import Person

if TYPE_CHECKING:
    from app.accounts.directory import Directory

AT_ONCE = 4
"""Exchanges with the directory at a time."""


@dataclass(frozen=True, slots=True)
class DirectoryLogins:
    """People of a directory: their logins, and the delays after failed ones."""

    directory: "Directory"
    ring: KeyRing
    failed: FailedLogins
    turns: LoginTurns = field(default_factory=lambda: LoginTurns(AT_ONCE), repr=False)

    async def log_in(self, name: str, password: str) -> Person:
        """Return the account of the person with this name and password, which exists from now on.

        Failures count for the name and for the entry, which the directory may find by several names.

        Raises:
            WrongLoginError: `wrong_password`.
            OverloadedError: too many failures, or too many logins at once.
            ProviderUnavailableError: the directory does not answer.
        """
        self.failed.check(name)
        entry = await self.turns.run(lambda: self.directory.find(name))
        dn = entry.dn if entry is not None else None
        tried = [name] if dn is None else [name, f"dn:{dn}"]
        for each in tried:
            self.failed.check(each)
        if not await self.turns.run(lambda: self.directory.accepts(dn, password)):
            for each in tried:
                self.failed.note(each)
            raise WrongLoginError("The name or the password is wrong", code="wrong_password")
        assert entry is not None
        for each in tried:
            self.failed.forget(each)
        return await self.ring.meet(entry.identity)
