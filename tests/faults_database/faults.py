"""The ways in which a database breaks."""

import asyncio
from typing import Final

from tests.faults_database.ledger import Window, now
from tests.faults_database.stage import Stage, Strike

FROZEN_SECONDS: Final = 45.0
STANDBY_SECONDS: Final = 3.0
LACKED_SECONDS: Final = 0.1
"""Time before its end from which a primary sends nothing to its standby."""
LAG_SECONDS: Final = 0.3
"""Longest time between a COMMIT and its arrival at the standby."""
LOST_COMMITS: Final = 20
SILENT_SECONDS: Final = 25.0
"""Time after which a server has noticed that its connection for notices was cut."""

OPERATOR: Final = (
    "default_transaction_isolation = serializable",
    "client_encoding = LATIN1",
    "DateStyle = 'SQL, DMY'",
    "IntervalStyle = sql_standard",
    "timezone = 'Asia/Kathmandu'",
    "extra_float_digits = 0",
    "bytea_output = escape",
    "lock_timeout = 100",
    "statement_timeout = 300",
    "idle_session_timeout = 3000",
    "idle_in_transaction_session_timeout = 100",
    "default_transaction_deferrable = on",
    "array_nulls = off",
    "enable_seqscan = off",
)


async def backend_killed(stage: Stage) -> None:
    """Kill a backend, as the kernel does for lack of memory. All sessions end, and PostgreSQL starts again."""
    await asyncio.to_thread(stage.cluster.kill_backend)


async def sessions_ended(stage: Stage) -> None:
    """End all sessions, five times."""
    for _ in range(5):
        await asyncio.to_thread(stage.cluster.end_sessions)
        await asyncio.sleep(0.5)


async def crash(stage: Stage) -> None:
    """Kill PostgreSQL as a whole, and start it again."""
    await asyncio.to_thread(stage.cluster.stop)
    await asyncio.sleep(2.0)
    await asyncio.to_thread(stage.cluster.start_again)


def frozen(seconds: float) -> Strike:
    """Stop all processes of PostgreSQL for a time."""

    async def strike(stage: Stage) -> None:
        await asyncio.to_thread(stage.cluster.hold)
        await asyncio.sleep(seconds)
        await asyncio.to_thread(stage.cluster.release)

    return strike


async def black_hole(stage: Stage) -> None:
    """Let no byte through the present connections any more. New ones work."""
    for each in stage.proxies:
        each.swallow()


async def commits_lost(stage: Stage) -> None:
    """Lose every second answer to a COMMIT."""
    for each in stage.proxies:
        each.lose_commits(LOST_COMMITS)
    async with asyncio.timeout(60):
        while any(each.num_left for each in stage.proxies[: len(stage.servers)]):  # noqa: ASYNC110
            await asyncio.sleep(0.1)
    for each in stage.proxies:
        each.lose_commits(0)


async def failed_over(stage: Stage) -> None:
    """Fail over to a standby that lacks the last writes."""
    await _fail_over(stage)


async def failed_over_synchronously(stage: Stage) -> None:
    """Fail over to a standby that every COMMIT waited for."""
    await _fail_over(stage, synchronous=True)


async def _fail_over(stage: Stage, *, synchronous: bool = False) -> None:
    primary = stage.cluster
    standby = await asyncio.to_thread(stage.clusters.standby, primary)
    if synchronous:
        settings = ("ALTER SYSTEM SET synchronous_standby_names = '*'", "SELECT pg_reload_conf()")
        await asyncio.to_thread(primary.execute, *settings)
    await asyncio.sleep(1.0)
    begin = now() - LAG_SECONDS
    await asyncio.to_thread(primary.hold, "walsender")
    await asyncio.sleep(LACKED_SECONDS)
    stage.lead_to(standby)
    await asyncio.to_thread(primary.stop)
    if not synchronous:
        stage.window = Window(begin, now())
    await asyncio.to_thread(standby.promote)
    if synchronous:
        settings = ("ALTER SYSTEM RESET synchronous_standby_names", "SELECT pg_reload_conf()")
        await asyncio.to_thread(standby.execute, *settings)
    stage.cluster = standby


async def standby_for_a_moment(stage: Stage) -> None:
    """Lead the address to a standby for a few seconds, and cut no connection afterwards."""
    standby = await asyncio.to_thread(stage.clusters.standby, stage.cluster)
    stage.lead_to(standby)
    stage.cut()
    await asyncio.sleep(STANDBY_SECONDS)
    stage.lead_to(stage.cluster)
    await asyncio.to_thread(standby.stop)


def clock_moved(hours: int) -> Strike:
    """Set the clock of PostgreSQL forward or back, and leave it so for a while."""

    async def strike(stage: Stage) -> None:
        stage.cluster.move_clock(hours)
        await asyncio.sleep(8.0)
        stage.cluster.move_clock(0)

    return strike


async def settings_of_operator(stage: Stage) -> None:
    """Change the defaults of the database, and have all connections made again."""
    await asyncio.to_thread(stage.cluster.execute, *(f"ALTER DATABASE postgres SET {each}" for each in OPERATOR))
    stage.cut()
    await asyncio.sleep(10.0)
    await asyncio.to_thread(stage.cluster.execute, "ALTER DATABASE postgres RESET ALL")
    stage.cut()


def listen_cut(seconds: float) -> Strike:
    """Let no notices through, without a word."""

    async def strike(stage: Stage) -> None:
        for each in stage.proxies:
            each.swallow(listeners=True)
        await asyncio.sleep(seconds)

    return strike


FAULTS: Final[dict[str, Strike]] = {
    "backend killed": backend_killed,
    "sessions ended": sessions_ended,
    "crash": crash,
    "frozen": frozen(FROZEN_SECONDS),
    "black hole": black_hole,
    "COMMITs lost": commits_lost,
    "fail-over": failed_over,
    "synchronous fail-over": failed_over_synchronously,
    "standby for a moment": standby_for_a_moment,
    "clock +1 h": clock_moved(1),
    "clock -1 h": clock_moved(-1),
    "settings of the operator": settings_of_operator,
    "LISTEN cut": listen_cut(SILENT_SECONDS),
}
