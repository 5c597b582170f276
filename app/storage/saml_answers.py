"""Verified answers of a SAML provider that wait for their browser, which may come back to any server of the database.

An answer is accepted once: its id is remembered for as long as the provider lets it be accepted.
"""

import json
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Final

from app.domain.digests import digest_of
from app.storage.connection import DatabaseConnection
from app.storage.database import Database
from app.storage.errors import DuplicateError
from app.tenants.person import Identity

KEPT_SECONDS: Final = 120.0
CLOCKS_SECONDS: Final = 3600.0
"""Seconds by which an id outlives its answer, since the clocks of the servers differ."""


@dataclass(frozen=True, slots=True)
class SamlAnswer:
    """An answer whose signature was verified.

    id: of the assertion; the provider draws it.
    state: of the attempt that it answers.
    expires_at: Unix seconds from which no server accepts the answer.
    """

    id: str
    state: str
    identity: Identity
    expires_at: float


class SamlAnswerStore:
    """The answers of all tenants. Each method is one transaction."""

    def __init__(self, database: Database, now: Callable[[], float] = time.time) -> None:
        self._database = database
        self._now = now

    async def keep(self, answer: SamlAnswer, secret: str) -> bool:
        """Keep an answer under a secret, and return whether it came for the first time. Remove what is out of date."""
        now = self._now()

        def insert(connection: DatabaseConnection) -> None:
            connection.execute("DELETE FROM saml_answer WHERE expires_at <= ?", (now - CLOCKS_SECONDS,))
            connection.execute(
                "UPDATE saml_answer SET identity = NULL WHERE identity IS NOT NULL AND kept_until <= ?", (now,)
            )
            connection.execute(
                "INSERT INTO saml_answer(id, secret, state, identity, kept_until, expires_at) "
                "VALUES (?, ?, ?, ?, ?, ?)",
                (
                    digest_of(answer.id),
                    digest_of(secret),
                    answer.state,
                    json.dumps(asdict(answer.identity)),
                    now + KEPT_SECONDS,
                    answer.expires_at,
                ),
            )

        try:
            await self._database.write(insert)
        except DuplicateError:
            return False
        return True

    async def take(self, secret: str, state: str) -> Identity | None:
        """Return the person of the answer that is kept under a secret, which ends.

        None if there is no such answer, if it was taken before, or if it belongs to another attempt than `state`.
        """

        def update(connection: DatabaseConnection) -> Identity | None:
            row = connection.fetch_one(
                "SELECT state, identity FROM saml_answer WHERE secret = ? AND identity IS NOT NULL AND kept_until > ?",
                (digest_of(secret), self._now()),
            )
            if row is None:
                return None
            connection.execute("UPDATE saml_answer SET identity = NULL WHERE secret = ?", (digest_of(secret),))
            fields = json.loads(row["identity"])
            return Identity(**{**fields, "groups": tuple(fields["groups"])}) if row["state"] == state else None

        return await self._database.write(update)
