"""Limits on how long a thread waits for PostgreSQL, which may hang, or be behind a network that swallows everything.

The thread that waits gives the connection up by itself and closes it. No cancel request of libpq is sent: that needs a
second connection to the server that does not answer. PostgreSQL ends the statement of a closed connection within a
second (`ENDED_WITH_CLIENT`), or at the next result that it sends.
"""

from collections.abc import Callable, Generator, Mapping
from contextlib import suppress
from math import inf
from threading import Lock
from time import monotonic
from typing import Any, Final, TypeVar

import psycopg
from psycopg import OperationalError
from psycopg.conninfo import conninfo_to_dict, make_conninfo

R = TypeVar("R")

CONNECT_SECONDS: Final = 5
AWAY_SECONDS: Final = 1.0
"""For which no connection is tried after one that failed."""

LOOK_SECONDS: Final = 0.1
"""Seconds between two looks at the limits while a thread waits."""

NETWORK: Final[Mapping[str, str | int]] = {
    "keepalives_idle": 5,
    "keepalives_interval": 5,
    "keepalives_count": 3,
    "tcp_user_timeout": 15_000,
    "target_session_attrs": "primary",
}
"""Settings of libpq, which an address may choose differently: a dead connection ends after 15 to 20 s, and a standby is
refused, so that the next try finds the server that has taken its place."""

SERVER_NETWORK: Final = (
    "SET tcp_keepalives_idle = 5",
    "SET tcp_keepalives_interval = 5",
    "SET tcp_keepalives_count = 3",
    "SET tcp_user_timeout = 15000",
)
"""PostgreSQL itself notices within 20 s that the machine of a session is dead, and frees the session's locks."""

NO_OTHER_LIMITS: Final = (
    "SELECT set_config(name, '0', false) FROM pg_settings WHERE name IN "
    "('statement_timeout', 'lock_timeout', 'transaction_timeout', 'idle_session_timeout')"
)
"""A database or a role may have limits as its defaults, which would end transactions and connections of Ebb."""

ENDED_WITH_CLIENT: Final = (
    "DO $$ BEGIN SET client_connection_check_interval = '1s'; EXCEPTION WHEN invalid_parameter_value THEN NULL; END $$",
)
"""Some systems cannot notice a closed connection while a statement runs. `statement_timeout` holds there."""


class LimitedConnection(psycopg.Connection[Any]):
    """A connection that closes itself when its limit is reached while a thread waits for it."""

    is_over: Callable[[], bool] | None = None
    """Whether the limit is reached; None for no limit."""

    def wait(self, gen: Generator[Any, Any, R], interval: float = LOOK_SECONDS, timeout: float | None = None) -> R:
        """Consume a generator of psycopg. Raise OperationalError at the limit."""
        return super().wait(self._within_limits(gen), interval, timeout)

    def _within_limits(self, gen: Generator[Any, Any, R]) -> Generator[Any, Any, R]:
        try:
            wanted = next(gen)
            while True:
                ready = yield wanted
                self._check()
                wanted = gen.send(ready)
        except StopIteration as end:
            result: R = end.value
            return result

    def _check(self) -> None:
        if self.is_over is not None and self.is_over():
            self.close()
            raise OperationalError("the time limit for an answer of PostgreSQL was reached")


class Reach:
    """Whether a database can be reached, shared by all connections of a process to it. Any thread may use it.

    While it is away, one thread at a time tries to connect. The others are refused at once.

    suspected_at: monotonic time at which a connection last gave no answer; -inf if all did.
    """

    def __init__(self, clock: Callable[[], float] = monotonic) -> None:
        self._clock = clock
        self._lock = Lock()
        self._refused_until: float | None = None
        self.suspected_at = -inf

    def connect(self, url: str) -> LimitedConnection:
        """Return a new connection. Raise psycopg.Error."""
        with self._lock:
            if self._refused_until is not None:
                if self._clock() < self._refused_until:
                    raise OperationalError("PostgreSQL was away a moment ago")
                self._refused_until = inf
        try:
            made = LimitedConnection.connect(
                with_network_limits(url), autocommit=True, connect_timeout=CONNECT_SECONDS, client_encoding="UTF8"
            )
        except BaseException:
            self._refused_until = self._clock() + AWAY_SECONDS
            raise
        self._refused_until = None
        return made


def with_network_limits(url: str) -> str:
    """Return an address with NETWORK for all that it does not choose itself."""
    with suppress(psycopg.ProgrammingError):
        chosen = conninfo_to_dict(url)
        return make_conninfo(url, **{name: value for name, value in NETWORK.items() if name not in chosen})
    # Not an address: the connection says so.
    return url
