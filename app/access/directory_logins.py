"""Logins of the people of a directory, with their names and passwords there."""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from app.access.key_ring import KeyRing
from app.access.password_logins import WrongLoginError
from app.accounts.failed_logins import FailedLogins, Source
from app.accounts.login_turns import LoginTurns
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

    async def log_in(self, name: str, password: str, source: Source) -> Person:
        """Return the account of the person with this name and password, which exists from now on.

        Failures count for the entry, which the directory may find by several names, and for names that find none.

        Raises:
            WrongLoginError: `wrong_password`.
            OverloadedError: too many failures, or too many logins at once.
            ProviderUnavailableError: the directory does not answer.
        """
        self.failed.check_address(source)
        entry = await self.turns.run(source.place, lambda: self.directory.find(name))
        dn = entry.dn if entry is not None else None
        account = f"entry {dn}" if dn is not None else f"unknown {name.lower()}"
        with self.failed.attempt(account, source) as attempt:
            if not await self.turns.run(source.place, lambda: self.directory.accepts(dn, password)):
                attempt.is_wrong = True
                raise WrongLoginError("The name or the password is wrong", code="wrong_password")
        assert entry is not None
        return await self.ring.meet(entry.identity)
