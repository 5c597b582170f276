"""Promised prefixes while another tenant floods the disk, the engine is killed and Redis is flushed: none is lost.

`make faults-promises` has 10,000 prefixes, `make faults` has fewer.
"""

import json
import os
import random
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from tests.faults_tiers.promising_engine import (
    FLOOD,
    PREFIX_BLOCKS,
    Plan,
    arguments,
    ask,
    batches,
    opened,
    promise_and_flood,
)
from tests.forked_process import ForkedProcess
from tests.integration.engine_rig import BLOCK
from tests.patient_loads import make_loads_patient
from tests.redis_server import RedisServer

pytest_plugins = ["tests.store_fixtures"]

PREFIXES = int(os.environ.get("PROMISES", "60"))
KILLS = 3
REPORTED = 500
"""Prefixes between two lines of progress."""


@pytest.fixture
def folder() -> Iterator[Path]:
    """Folder on the disk of the checkout. Temporary folders of tests are in memory."""
    home = Path(__file__).parents[2] / ".make"
    home.mkdir(exist_ok=True)
    with TemporaryDirectory(dir=home) as made:
        yield Path(made)


def replies(plan: Plan, kill_at: list[int]) -> dict[int, tuple[int, str | None]]:
    """Have all prefixes promised by engines of which some are killed. Return tokens and reason of each prefix."""
    told: dict[int, tuple[int, str | None]] = {}
    while len(told) < PREFIXES:
        reading, writing = os.pipe()
        process = ForkedProcess(promise_and_flood, arguments(plan, len(told), PREFIXES), stdout=writing)
        os.close(writing)
        with os.fdopen(reading) as output:
            for line in output:
                if line.startswith("["):
                    number, tokens, reason = json.loads(line)
                    told[number] = tokens, reason
                    if len(told) % REPORTED == 0:
                        print(f"{len(told)} of {PREFIXES} prefixes promised or declined", flush=True)
                if kill_at and len(told) >= kill_at[0]:
                    kill_at.pop(0)
                    process.kill()
        process.wait(60)
    return told


def test_promises_are_kept_or_declined(
    shallow_model: Path, folder: Path, redis_server: RedisServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_loads_patient(monkeypatch)
    num_reserved = PREFIXES * 9 // 10
    room = PREFIXES * PREFIX_BLOCKS * 11 // 10
    plan = Plan(str(shallow_model), str(folder), f"unix://{redis_server.socket}", num_reserved, room)
    told = replies(plan, sorted(random.Random(1).sample(range(PREFIXES), KILLS)))
    assert sorted(told) == [*range(PREFIXES)]
    promised = [number for number, (tokens, _) in told.items() if tokens == PREFIX_BLOCKS * BLOCK]
    silent = [number for number, (tokens, reason) in told.items() if tokens < PREFIX_BLOCKS * BLOCK and reason is None]
    assert silent == [], "each decline says why"
    with redis_server.client() as client:
        client.flushall()
    broken = []
    with opened(plan) as llm:
        for numbers in batches(promised):
            usages = ask(llm, numbers, "keeper")
            found = zip(numbers, usages, strict=True)
            broken += [number for number, usage in found if usage.kv.reused["disk"] < PREFIX_BLOCKS * BLOCK]
        assert llm.tiers.store is not None
        lost = llm.tiers.store.stats().lower["disk"].broken_promises
    reasons = sorted({reason for _, reason in told.values() if reason is not None})
    print(
        f"\n{len(told)} prefixes, {len(promised)} promised, {len(told) - len(promised)} declined {reasons}, "
        f"{FLOOD} prompts of a flood for each, {KILLS} kills, Redis flushed: {len(broken)} broken"
    )
    assert (broken, lost) == ([], 0)
    # A busy disk declines those that do not arrive in time.
    assert promised
