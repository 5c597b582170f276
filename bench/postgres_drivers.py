"""`python -m bench.postgres_drivers`: asyncpg on the event loop against psycopg on a thread, with the store's SQL.

    scripts/with-postgres .venv/bin/python -m bench.postgres_drivers [--rounds 15]

Both drivers run the same statements in turn, on the same database and the loop of the server (uvloop): once with
nothing else to do there, and once with other work for half of the time, as with many streams. psycopg is used as the
store uses it, in a thread that runs a transaction as a whole. asyncpg awaits each statement on the loop. This driver is
installed into a temporary folder. Takes two minutes. Prints a table, and writes bench/results/postgres_drivers.json
and postgres_drivers.md.
"""

import argparse
import asyncio
import importlib
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from datetime import date
from pathlib import Path
from typing import Any, Final

import psycopg
import uvloop

from app.domain.token_history import MessageTokens
from app.storage.connection import Parameters
from app.storage.heads import HEADS_QUERY
from app.storage.imports import Imported
from app.storage.path_ends import UNNEEDED
from app.storage.postgres.connection import PostgresConnection
from app.storage.postgres.database import BEGIN_NOT_DURABLE, COMMAND
from app.storage.postgres.limits import Reach
from app.storage.postgres.text_index import LOOKED_THROUGH, NEWEST, WantedWords, place_of_messages
from app.storage.removals import BATCH_MESSAGES
from app.storage.search import BEYOND_ALL
from app.storage.store import Store
from app.tenants.name import LOCAL
from bench.conversation_store import TURNS, Words, conversation_of, turn_times
from bench.machine import Machine, describe_machine
from bench.report import RESULTS, write_results
from bench.report_tables import table
from bench.stats import median

ASYNCPG: Final = "0.30.0"
CONVERSATIONS: Final = 200
MESSAGES: Final = 40
TOKENS: Final = MessageTokens(bytes(600), "key")
SHOWN: Final = 20
"""Number of chats whose paths one query reads."""
LISTED: Final = 63
"""Numbers in the first list of a search."""
ROWS: Final = 10
"""Number of rows that the longer transaction changes, one by one."""
CALLS: Final = 40
"""Calls of each driver in a round, by turns."""
BUSY_SECONDS: Final = 0.001
"""Length of a piece of other work on a busy loop, and of the pause after it."""

_PLACE: Final = re.compile(r"\?|(?<!:):([a-z_]+)")


@dataclass(frozen=True, slots=True)
class Statement:
    """SQL with the marks of the storage modules, and its parameters."""

    sql: str
    given: Parameters = ()


@dataclass(frozen=True, slots=True)
class Work:
    """Statements of one visit to the database. Only the rows of a single one are fetched.

    numbered: the statements as asyncpg takes them.
    """

    name: str
    statements: Sequence[Statement]
    numbered: Sequence[tuple[Any, ...]]


Driver = Callable[[Work], Awaitable[list[Any]]]


@dataclass(frozen=True, slots=True)
class Figure:
    """Time of one kind of work, from the call to its result on the loop.

    psycopg_us, asyncpg_us: microseconds, the median of the rounds' medians.
    ratio: asyncpg over psycopg, the median of the rounds. least, most: the range of the rounds.
    cpu_ratio: the same of the process's CPU time; None on a busy loop, whose own work counts too.
    """

    work: str
    loop: str
    psycopg_us: float
    asyncpg_us: float
    ratio: float
    least: float
    most: float
    cpu_ratio: float | None


@dataclass(frozen=True, slots=True)
class DriversReport:
    """One run. turn_ms: what the store takes with psycopg to write a question and its answer, in the median."""

    measured_on: str
    machine: Machine
    versions: Mapping[str, str]
    rounds: int
    turn_ms: float
    figures: tuple[Figure, ...]


async def measure(url: str, asyncpg: Any, rounds: int) -> tuple[float, tuple[Figure, ...]]:
    """Fill the database at `url`, and measure both drivers. Returns the time of a turn in the store as well."""
    works, turn_ms = await _filled(url)
    with ThreadPoolExecutor(1) as thread:
        connection = await asyncio.get_running_loop().run_in_executor(thread, PostgresConnection, url, COMMAND, Reach())
        other = await asyncpg.connect(url)
        # Without statistics, the plans would change once PostgreSQL has gathered some by itself.
        await other.execute("VACUUM ANALYZE")
        drivers = (_psycopg(connection, thread), _asyncpg(other))
        try:
            idle = [await _compared(work, "idle", drivers, rounds) for work in works]
            working = asyncio.create_task(_other_work())
            try:
                busy = [await _compared(work, "busy", drivers, rounds) for work in works]
            finally:
                working.cancel()
                with suppress(asyncio.CancelledError):
                    await working
            return turn_ms, (*idle, *busy)
        finally:
            await other.close()
            connection.close()


def _psycopg(connection: PostgresConnection, thread: ThreadPoolExecutor) -> Driver:
    def run(work: Work) -> list[Any]:
        if len(work.statements) == 1:
            [statement] = work.statements
            return connection.fetch_all(statement.sql, statement.given)
        for statement in work.statements:
            connection.execute(statement.sql, statement.given)
        return []

    async def call(work: Work) -> list[Any]:
        return await asyncio.get_running_loop().run_in_executor(thread, run, work)

    return call


def _asyncpg(connection: Any) -> Driver:
    async def call(work: Work) -> list[Any]:
        if len(work.numbered) == 1:
            return list(await connection.fetch(*work.numbered[0]))
        for statement in work.numbered:
            await connection.execute(*statement)
        return []

    return call


def numbered(statement: Statement) -> tuple[Any, ...]:
    """Return the SQL with the marks of asyncpg (`$1`), and its parameters in their order."""
    given = statement.given
    if isinstance(given, Sequence):
        numbers = iter(range(1, len(given) + 1))
        return _PLACE.sub(lambda _: f"${next(numbers)}", statement.sql), *given
    names = list(given)
    return _PLACE.sub(lambda found: f"${names.index(found[1]) + 1}", statement.sql), *given.values()


async def _other_work() -> None:
    """Occupy the loop for half of the time."""
    while True:
        until = time.perf_counter() + BUSY_SECONDS
        while time.perf_counter() < until:
            pass
        await asyncio.sleep(BUSY_SECONDS)


async def _compared(work: Work, loop: str, drivers: tuple[Driver, Driver], rounds: int) -> Figure:
    ours, theirs = [[tuple(row) for row in await driver(work)] for driver in drivers]
    assert ours == theirs, "the drivers return different rows"
    # The first round warms the statements of both drivers.
    found = [await _round(work, drivers) for _ in range(rounds + 1)][1:]
    ratios = [theirs / ours for (ours, _), (theirs, _) in found]
    ours_us, theirs_us = (1e6 * median([each[at][0] for each in found]) for at in (0, 1))
    cpu_ratio = median([theirs / ours for (_, ours), (_, theirs) in found]) if loop == "idle" else None
    return Figure(work.name, loop, ours_us, theirs_us, median(ratios), min(ratios), max(ratios), cpu_ratio)


async def _round(work: Work, drivers: tuple[Driver, Driver]) -> list[tuple[float, float]]:
    """Return for each driver the median seconds of a call, and the CPU seconds of all calls. Both take turns."""
    times, cpu = [list[float](), list[float]()], [0.0, 0.0]
    for _ in range(CALLS):
        for at, driver in enumerate(drivers):
            began, cpu_began = time.perf_counter(), time.process_time()
            await driver(work)
            times[at].append(time.perf_counter() - began)
            cpu[at] += time.process_time() - cpu_began
    return [(median(each), seconds) for each, seconds in zip(times, cpu, strict=True)]


async def _filled(url: str) -> tuple[list[Work], float]:
    """Fill the database, and return the work on it and the milliseconds of a turn in the store."""
    words = Words(1)
    chats = [_with_tokens(conversation_of(words, number, MESSAGES)) for number in range(CONVERSATIONS)]
    # No conversation shows the messages of the last one, so none of them is needed.
    chats[-1] = replace(chats[-1], conversation=replace(chats[-1].conversation, head_id=None))
    store = await Store.open_postgres(url)
    try:
        await store.imports.add(chats, duplicates=True)
        turn_ms = median(await turn_times(store, TURNS))
    finally:
        await store.close()
    ids = [chat.conversation.id for chat in chats[:SHOWN]]
    row = (chats[0].messages[0].id, LOCAL)
    wanted = WantedWords(words.all[0])
    search = (*wanted.parts, place_of_messages(LOCAL), BEYOND_ALL, NEWEST * LISTED)
    works = [
        _work("read a row", [Statement("SELECT * FROM shown_message WHERE id = ? AND tenant = ?", row)]),
        _work("read 20 paths", [Statement(HEADS_QUERY.format(names=", ".join("?" * SHOWN)), (*ids, LOCAL))]),
        _work("find unneeded", [Statement(UNNEEDED, {"id": chats[-1].messages[-1].id, "most": BATCH_MESSAGES})]),
        _work("search", [Statement(LOOKED_THROUGH.format(phrases=wanted.contained()), search)]),
        _work("change a row", _transaction(ids[:1])),
        _work(f"change {ROWS} rows", _transaction(ids[:ROWS])),
    ]
    return works, turn_ms


def _work(name: str, statements: Sequence[Statement]) -> Work:
    return Work(name, statements, [numbered(each) for each in statements])


def _with_tokens(chat: Imported) -> Imported:
    return replace(chat, messages=[replace(message, tokens=TOKENS) for message in chat.messages])


def _transaction(ids: Sequence[str]) -> list[Statement]:
    """Return a transaction of the store that is not durable, with a statement for each conversation."""
    changes = [Statement("UPDATE conversation SET updated_at = ? WHERE id = ?", (time.time(), each)) for each in ids]
    return [Statement(BEGIN_NOT_DURABLE), *changes, Statement("COMMIT")]


def to_markdown(report: DriversReport) -> str:
    """Format the table."""
    rows = [
        (
            each.work,
            each.loop,
            f"{each.psycopg_us:.0f}",
            f"{each.asyncpg_us:.0f}",
            f"{each.ratio:.2f}",
            f"{each.least:.2f} – {each.most:.2f}",
            "" if each.cpu_ratio is None else f"{each.cpu_ratio:.2f}",
        )
        for each in report.figures
    ]
    versions = ", ".join(f"{name} {version}" for name, version in report.versions.items())
    heading = (
        f"# Drivers of PostgreSQL\n\nMeasured on {report.measured_on}: {report.machine.cpu}, {report.machine.cores} "
        f"cores; {versions}. Each figure is the median of {report.rounds} rounds, and each ratio is taken within its "
        f"round. With psycopg, the store writes a question and its answer in {report.turn_ms:.1f} ms."
    )
    head = ("work", "event loop", "psycopg, µs", "asyncpg, µs", "asyncpg / psycopg", "range", "of CPU time")
    return f"{heading}\n\n{table(head, rows)}\n"


def main(argv: Sequence[str] | None = None) -> int:
    """Install asyncpg, measure, print, and write postgres_drivers.json and postgres_drivers.md."""
    parser = argparse.ArgumentParser(prog="python -m bench.postgres_drivers", description=__doc__)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--out", type=Path, default=RESULTS)
    arguments = parser.parse_args(argv)
    with (
        tempfile.TemporaryDirectory(prefix="ebb-asyncpg-") as folder,
        asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner,
    ):
        wheel = ("--quiet", "--no-deps", "--target", folder, f"asyncpg=={ASYNCPG}")
        subprocess.run([sys.executable, "-m", "pip", "--disable-pip-version-check", "install", *wheel], check=True)
        sys.path.insert(0, folder)
        asyncpg = importlib.import_module("asyncpg")
        turn_ms, figures = runner.run(measure(os.environ["TEST_DATABASE_URL"], asyncpg, arguments.rounds))
    versions = {"psycopg": f"{psycopg.__version__} ({psycopg.pq.__impl__})", "asyncpg": ASYNCPG}
    report = DriversReport(date.today().isoformat(), describe_machine(), versions, arguments.rounds, turn_ms, figures)
    write_results(arguments.out, "postgres_drivers", asdict(report), to_markdown(report))
    print(to_markdown(report))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
