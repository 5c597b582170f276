"""PostgreSQL that crashes while servers live on: a backend is killed, and all sessions end."""

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from app.schemas.conversations import NewMessage
from tests.postgres.cluster import Cluster, Clusters
from tests.postgres.server import WHOLE_ANSWER, Server, end_of, server


@pytest.fixture(scope="module")
def postgres() -> Iterator[Cluster]:
    """Start a server whose crash loses all that no transaction waited for in the last ten seconds."""
    with Clusters.opened() as clusters:
        yield clusters.new("wal_writer_delay=10s")


@pytest.fixture
async def first(tmp_path: Path, postgres: Cluster) -> AsyncIterator[Server]:
    async with server(tmp_path, "first", url=postgres.url) as made:
        yield made


@pytest.fixture
async def second(tmp_path: Path, postgres: Cluster, first: Server) -> AsyncIterator[Server]:
    async with server(tmp_path, "second", url=postgres.url) as made:
        yield made


async def test_answer_that_was_reported_as_done_is_there(first: Server, postgres: Cluster) -> None:
    run = await first.ask()
    answer = await end_of(run)
    assert answer.status == "complete"
    postgres.kill_backend()
    assert await first.stored(run) == answer
    again = await first.services.turns.ask(answer.conversation_id, NewMessage(content="two"))
    assert (await end_of(again)).status == "complete"


async def test_lost_progress_leaves_no_hole_for_the_next_owner(
    first: Server, second: Server, postgres: Cluster
) -> None:
    run = await first.asked(3)
    postgres.kill_backend()
    assert (await first.services.store.runs.find(run.id)) is not None
    first.engine.allow(2)
    await first.engine.until_produced(first.engine.requests[0], 5)
    await first.services.records.runs._save([run])
    await first.expire()
    await second.lease.renew()
    assert (await end_of(second.run(run.id))).content == WHOLE_ANSWER
    assert second.engine.requests[0].produced[:5] == list(run.token_ids)[:5]


async def test_take_over_survives_a_crash(first: Server, second: Server, postgres: Cluster) -> None:
    run = await first.asked(3)
    await first.expire()
    second.engine.hold()
    await second.lease.renew()
    postgres.kill_backend()
    await second.lease.renew()
    await first.lease.renew()
    await end_of(run)
    assert first.services.records.runs.get(run.id, "local") is None
    second.engine.allow(None)
    assert (await end_of(second.run(run.id))).content == WHOLE_ANSWER
