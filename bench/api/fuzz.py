"""Hostile requests to the real server, which may refuse any of them but must not fail."""

import asyncio
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import aiohttp
from prometheus_client.parser import text_string_to_metric_families

from bench.api.fuzz_requests import ENDLESS, LIMITS, WITHOUT_KEYS, Attempt, RequestMaker, operations
from bench.api.replay_server import replay_server
from bench.api.stream_reader import Address
from bench.api.streams import address_of
from bench.loop_lag import lag_counts
from bench.server import EbbServer
from engine.testing.schedule import clock

STEP_SECONDS: Final = 0.002
CONNECTIONS: Final = 16
ANSWER_SECONDS: Final = 5.0
"""Timeout of one answer. A request that was cut short gets none, so its client gives up after `CUT_SECONDS`."""
CUT_SECONDS: Final = 0.2
MAX_BYTES: Final = 1 << 16
AS_DESIGNED: Final = (503,)
"""Statuses of 5xx that do not count as faults: a server that is starting or stopping answers with 503."""
MAX_LOG_ERRORS: Final = 15


@dataclass(frozen=True, slots=True)
class FuzzResult:
    """Result of one run of a fuzzer.

    by: name of the fuzzer.
    statuses: answers by status, as counted by the server.
    lag_ms: upper bound of the highest bucket that the event loop's lag reached.
    log_errors: first error lines of the server's log.
    """

    by: str
    requests: int
    seconds: float
    statuses: Mapping[str, int]
    lag_ms: float
    log_errors: tuple[str, ...]

    @property
    def faults(self) -> int:
        """Number of answers that report a server error."""
        return sum(
            count for status, count in self.statuses.items() if status >= "500" and int(status) not in AS_DESIGNED
        )


async def fuzz(requests: int, seed: int, root: Path) -> FuzzResult:
    """Send `requests` requests made by `RequestMaker`. Raise ServerFailedError."""
    state = root / "fuzz"
    async with replay_server(state, STEP_SECONDS, WITHOUT_KEYS) as server:
        maker = RequestMaker(operations(await _document(server)), seed)
        before, began = await _counts(server), clock()
        left = iter(range(requests))
        await asyncio.gather(*(_send_all(address_of(server), maker, left) for _ in range(CONNECTIONS)))
        return await _result(server, "the fuzzer", requests, began, before, state)


async def fuzz_with_schemathesis(max_examples: int, seed: int, root: Path, paths: str = "") -> FuzzResult:
    """Run schemathesis against the operations of the server's document. Raise ServerFailedError.

    max_examples: examples per operation.
    paths: regular expression that selects operations by path; "" selects all but those that set limits.
    """
    state = root / "schemathesis"
    async with replay_server(state, STEP_SECONDS, WITHOUT_KEYS) as server:
        before, began = await _counts(server), clock()
        command = ("-m", "schemathesis.cli", "run", f"{server.base_url}/openapi.json", "--exclude-path", ENDLESS)
        how = ("--checks", "not_a_server_error", "--max-examples", f"{max_examples}", "--seed", f"{seed}")
        which = ("--include-path-regex", paths) if paths else ("--exclude-path", LIMITS)
        process = await asyncio.create_subprocess_exec(
            sys.executable, *command, *how, *which, "--request-timeout", f"{ANSWER_SECONDS}", "--no-color",
            cwd=state, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT,
        )  # fmt: skip
        said, _ = await process.communicate()
        (state / "schemathesis.log").write_bytes(said)
        sent = sum((await _counts(server)).statuses.values()) - sum(before.statuses.values())
        return await _result(server, "schemathesis", sent, began, before, state)


@dataclass(frozen=True, slots=True)
class _Counts:
    """Counters from /metrics.

    statuses: answers by status.
    lags: number of times that the event loop was late, by the bound of the bucket in ms.
    """

    statuses: Counter[str]
    lags: Counter[float]


async def _send_all(address: Address, maker: RequestMaker, left: Iterator[int]) -> None:
    for _ in left:
        maker.learn(await _ask(address, maker.make()))


async def _ask(address: Address, attempt: Attempt) -> bytes:
    """Return the beginning of the answer, which is empty if none came."""
    reader, writer = await asyncio.open_connection(address.host, address.port)
    answer = bytearray()
    try:
        writer.write(attempt.request)
        async with asyncio.timeout(CUT_SECONDS if attempt.is_cut else ANSWER_SECONDS):
            while len(answer) < MAX_BYTES and (piece := await reader.read(MAX_BYTES)):
                answer += piece
    except (TimeoutError, ConnectionError):
        pass
    finally:
        writer.transport.abort()
    return bytes(answer)


async def _result(server: EbbServer, by: str, requests: int, began: float, before: _Counts, state: Path) -> FuzzResult:
    seconds, after = clock() - began, await _counts(server)
    lags = after.lags - before.lags
    log = (state / "server.log").read_text(errors="replace").splitlines()
    return FuzzResult(
        by=by,
        requests=requests,
        seconds=seconds,
        statuses=dict(after.statuses - before.statuses),
        lag_ms=max(lags, default=0.0),
        log_errors=tuple(line for line in log if " ERROR " in line)[:MAX_LOG_ERRORS],
    )


async def _document(server: EbbServer) -> dict[str, Any]:
    async with aiohttp.ClientSession(server.base_url) as session, session.get("/openapi.json") as response:
        return dict(await response.json())


async def _counts(server: EbbServer) -> _Counts:
    async with aiohttp.ClientSession(server.base_url) as session, session.get("/metrics") as response:
        text = await response.text()
    families = {family.name: family for family in text_string_to_metric_families(text)}
    statuses = Counter[str]()
    for sample in families["ebb_http_responses"].samples:
        if sample.name.endswith("_total"):
            statuses[sample.labels["status"]] += round(sample.value)
    return _Counts(statuses, lag_counts(text))
