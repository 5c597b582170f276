"""Delays of logins at a directory, with names that its search finds and that it does not."""

from collections.abc import AsyncIterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from app.access.directory_logins import DirectoryLogins
from app.access.key_ring import KeyRing
from app.access.password_logins import WrongLoginError
from app.accounts.failed_logins import FREE_FAILURES, FailedLogins, Source
from app.accounts.login_turns import LoginLine
from app.storage.store import Store
from app.tenants.person import Identity
from engine.api.errors import OverloadedError

PASSWORD = "grey gulls"


class SmallDirectory:
    """One person, whom several names find. tried: the passwords that were compared."""

    def __init__(self) -> None:
        self.tried = 0

    def find(self, name: str) -> Any:
        return SimpleNamespace(dn="uid=ada", identity=Identity("ldap", "1")) if name.strip() == "ada" else None

    def accepts(self, dn: str | None, password: str) -> bool:
        self.tried += dn is not None
        return dn is not None and password == PASSWORD


@pytest.fixture
async def logins(tmp_path: Path) -> AsyncIterator[DirectoryLogins]:
    store = await Store.open(tmp_path / "conversations.db")
    ring = KeyRing(store.access, store.keys, store.people, "always")
    yield DirectoryLogins(cast("Any", SmallDirectory()), ring, FailedLogins())
    await store.close()


async def guess(logins: DirectoryLogins, name: str, host: int) -> bool:
    """Return whether a wrong password was compared."""
    address = f"address 192.0.2.{host}"
    try:
        await logins.log_in(name, "wrong", Source(address, LoginLine(address)))
    except WrongLoginError:
        return True
    except OverloadedError:
        return False
    raise AssertionError("a wrong password was accepted")


async def test_made_up_names_do_not_lift_the_delay_of_a_person(logins: DirectoryLogins) -> None:
    directory = cast("SmallDirectory", logins.directory)
    for round_ in range(50):
        spelling = "ada" + " " * round_
        for _ in range(FREE_FAILURES):
            await guess(logins, spelling, host=1)
        for each in range(20):
            await guess(logins, f"made up {round_} {each}", host=1)
    assert directory.tried == FREE_FAILURES
    for host in range(2, 50):
        for _ in range(FREE_FAILURES):
            await guess(logins, "ada", host)
    assert directory.tried == 50, "guesses from all addresses together"


async def test_unknown_name_is_delayed_like_a_known_one(logins: DirectoryLogins) -> None:
    for name in ("ada", "bob"):
        assert [await guess(logins, name, host=1) for _ in range(FREE_FAILURES + 1)] == [True] * FREE_FAILURES + [False]


async def test_right_password_is_accepted_after_guesses_elsewhere(logins: DirectoryLogins) -> None:
    for _ in range(FREE_FAILURES):
        await guess(logins, "ada", host=1)
    address = "address 192.0.2.2"
    person = await logins.log_in("ada", PASSWORD, Source(address, LoginLine(address)))
    assert person.identity.subject == "1"
