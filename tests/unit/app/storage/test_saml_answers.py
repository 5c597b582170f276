"""Answers of a SAML provider in the database."""

import pytest

from app.storage.saml_answers import CLOCKS_SECONDS, KEPT_SECONDS, SamlAnswer, SamlAnswerStore
from app.storage.store import Store
from app.tenants.person import Identity

ADA = Identity("https://login.example", "ada-1", "Ada Ä", "ada@example.org", ("staff", "ops"))
NOW = 1_000_000.0


class Clock:
    def __init__(self) -> None:
        self.now = NOW

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def answers(store: Store, clock: Clock) -> SamlAnswerStore:
    return SamlAnswerStore(store.database, clock)


def answer(name: str = "_a1", expires_at: float = NOW + 300) -> SamlAnswer:
    return SamlAnswer(name, "state", ADA, expires_at)


async def test_answer_is_taken_once(answers: SamlAnswerStore) -> None:
    assert await answers.keep(answer(), "secret")
    assert await answers.take("other", "state") is None
    assert await answers.take("secret", "state") == ADA
    assert await answers.take("secret", "state") is None


async def test_answer_to_another_attempt_is_used_up(answers: SamlAnswerStore) -> None:
    await answers.keep(answer(), "secret")
    assert await answers.take("secret", "another") is None
    assert await answers.take("secret", "state") is None


async def test_answer_that_came_before_is_refused(answers: SamlAnswerStore, clock: Clock) -> None:
    long = answer("_" + "a" * 10_000)
    assert await answers.keep(long, "secret")
    clock.now = long.expires_at + CLOCKS_SECONDS - 1
    assert not await answers.keep(long, "again")


async def test_answers_leave_the_database(store: Store, answers: SamlAnswerStore, clock: Clock) -> None:
    await answers.keep(answer("_a1"), "first")
    await answers.keep(answer("_a2", NOW + 10_000), "second")
    clock.now = NOW + KEPT_SECONDS
    assert await answers.take("second", "state") is None
    clock.now = NOW + 300 + CLOCKS_SECONDS
    await answers.keep(answer("_a3", NOW + 10_000), "third")
    rows = await store.database.read("SELECT identity FROM saml_answer")
    assert sorted(row["identity"] is None for row in rows) == [False, True]
