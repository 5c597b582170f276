"""Digests of passwords, and codes of second factors."""

import asyncio

import pytest

from app.accounts.login_turns import MAX_WAITING, LoginLine
from app.accounts.passwords import Passwords
from app.accounts.second_factor import STEP_SECONDS, new_secret, secret_text, step_of
from engine.api.errors import OverloadedError
from tests.second_factor_device import code_at

PLACE = LoginLine("a")


async def test_digests_differ_and_match_their_password_only() -> None:
    passwords = Passwords()
    one, other = [await passwords.digest("zwölf Möwen") for _ in range(2)]
    assert one != other
    assert one.startswith("$argon2id$v=19$m=65536,t=3,p=4$")
    assert await passwords.matches("zwölf Möwen", one, PLACE)
    assert not await passwords.matches("zwolf Mowen", one, PLACE)
    assert not await passwords.matches("zwölf Möwen", None, PLACE)


async def test_flood_of_logins_is_refused() -> None:
    passwords = Passwords()
    attempts = [asyncio.create_task(passwords.digest("x")) for _ in range(MAX_WAITING + 1)]
    await asyncio.sleep(0)
    with pytest.raises(OverloadedError):
        await attempts[-1]
    for attempt in attempts:
        attempt.cancel()
    await asyncio.gather(*attempts, return_exceptions=True)


@pytest.mark.parametrize(("steps", "accepted"), [(-2, False), (-1, True), (0, True), (1, True), (2, False)])
def test_codes_of_neighbouring_steps_are_accepted(steps: int, accepted: bool) -> None:
    secret, now = new_secret(), 1_700_000_010.0
    code = code_at(secret_text(secret), now + steps * STEP_SECONDS)
    assert step_of(secret, code, now) == (int(now) // STEP_SECONDS + steps if accepted else None)


@pytest.mark.parametrize("code", ["", "12345", "abcdef", "١٢٣٤٥٦", "1234567"])
def test_text_that_is_no_code_is_refused(code: str) -> None:
    assert step_of(new_secret(), code) is None
