"""A benchmark ends what it started, and returns the status of its signal, when a SIGTERM comes."""

import asyncio
import os
import signal

import pytest

from bench.ending import TERMINATED, run_to_end


def test_result_of_a_benchmark_is_returned() -> None:
    async def work() -> int:
        return 3

    assert run_to_end(work()) == 3


def test_sigterm_ends_what_a_benchmark_started() -> None:
    ended = list[str]()

    async def work() -> None:
        try:
            os.kill(os.getpid(), signal.SIGTERM)
            await asyncio.sleep(60)
        finally:
            ended.append("server")

    with pytest.raises(SystemExit) as status:
        run_to_end(work())
    assert (status.value.code, ended) == (TERMINATED, ["server"])
