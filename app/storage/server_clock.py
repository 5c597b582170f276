"""Two clocks that no change of the system's clock can mislead.

- `act_at`: the time of a person's act, a little after that of any act before it. Chats are listed by it, so a clock
  that was set back does not put a new question below old ones.
- `ServedTime`: the time for which servers have served. A deletion is final when its time has passed on the system's
  clock and in served time, whichever is later.
"""

import math

from app.storage.connection import DatabaseConnection
from app.storage.database import Database

STEP_SECONDS = 1e-6
HOUR = 3600


def act_at(connection: DatabaseConnection, now: float) -> float:
    """Return the time of an act at `now`, inside the transaction of the caller."""
    [[newest]] = connection.fetch_all(
        f"UPDATE server_clock SET newest = {connection.dialect.greatest}(newest + ?, ?) RETURNING newest",
        (STEP_SECONDS, now),
    )
    return float(newest)


class ServedTime:
    """The log of what the system's clock showed while servers served."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def tick(self, elapsed: float, wall: float, *, window: float) -> float:
        """Record that `elapsed` more seconds were served and that the clock shows `wall`.

        Return a time of the system's clock. Everything that happened by that time is older than the last `window`
        seconds of serving, even if the clock was set forward since.
        """

        def note(connection: DatabaseConnection) -> float:
            [[first, last]] = connection.fetch_all("SELECT min(served), max(served) FROM served_tick")
            served = (last or 0.0) + elapsed
            connection.execute(
                "INSERT INTO served_tick(served, wall) VALUES (?, ?) "
                "ON CONFLICT(served) DO UPDATE SET wall = excluded.wall",
                (served, wall),
            )
            connection.execute(
                "INSERT INTO served_hour(hour, wall) VALUES (?, ?) "
                f"ON CONFLICT(hour) DO UPDATE SET wall = {connection.dialect.least}(served_hour.wall, excluded.wall)",
                (served // HOUR, wall),
            )
            if first is None or served - first < window:
                return -math.inf
            # The last one before the window began stays: an event just behind it has a later time.
            [[begin]] = connection.fetch_all(
                "SELECT max(served) FROM served_tick WHERE served <= ?", (served - window,)
            )
            connection.execute("DELETE FROM served_tick WHERE served < ?", (begin,))
            [[earliest]] = connection.fetch_all("SELECT min(wall) FROM served_tick")
            return float(earliest)

        return await self._database.write(note, durable=False)

    async def days_ago(self, days: int) -> float:
        """Return a time of the system's clock. Everything up to that time is older than the last `days` of serving.

        The time comes from the log of hours, so it may be up to two hours earlier than necessary. Returns -inf until
        servers have served for that long.
        """
        [row] = await self._database.read(
            "SELECT min(wall) AS earliest FROM served_hour WHERE hour >= (SELECT max(hour) FROM served_hour "
            "WHERE hour < (SELECT max(hour) FROM served_hour) - ?)",
            (days * 24,),
        )
        return float(row["earliest"]) if row["earliest"] is not None else -math.inf
