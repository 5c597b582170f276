"""Hand-over of the answers of a server that stops, with engines without a model."""

import asyncio
from pathlib import Path

import pytest

from app.runs import hand_over
from app.storage.servers import RELEASED
from engine.api.errors import OutageError
from tests.postgres.server import WHOLE_ANSWER, Server, end_of, frames_until_end, server


async def test_server_that_stops_hands_its_runs_over_at_once(tmp_path: Path, second: Server) -> None:
    async with server(tmp_path, "third") as third:
        run = await third.asked(3)
    async with asyncio.timeout(20):
        await second.lease._news.wait()
    await second.lease.renew()
    assert (await end_of(second.run(run.id))).content == WHOLE_ANSWER


async def test_leaving_server_hands_over_runs_within_its_lease(first: Server, second: Server) -> None:
    run = await first.asked(3)
    first.lease.stop_takeovers()
    await first.services.records.runs.hand_over([run])
    assert b"server_restart" in (await frames_until_end(run))[-1]
    # The notice reaches its sender too, which takes nothing back.
    first.lease.notice_handlers[RELEASED]("")
    await first.lease.renew()
    assert first.services.records.runs.get(run.id, "local") is None
    await second.lease.renew()
    assert (await end_of(second.run(run.id))).content == WHOLE_ANSWER


async def test_leaving_server_hands_over_a_few_runs_at_a_time(
    first: Server, second: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs, store = [await first.asked(1) for _ in range(3)], first.services.store.runs
    batches, release = list[list[str]](), store.release

    async def noted(run_ids: list[str]) -> None:
        batches.append(run_ids)
        await release(run_ids)

    monkeypatch.setattr(store, "release", noted)
    monkeypatch.setattr(hand_over, "BATCHES", 2)
    first.lease.stop_takeovers()
    await hand_over.hand_over_in_batches(first.services.records.runs, 0.01)
    assert batches == [[run.id for run in runs[:2]], [runs[2].id]]
    await second.lease.renew()
    for run in runs:
        assert (await end_of(second.run(run.id))).content == WHOLE_ANSWER


async def test_answer_that_ends_in_time_is_not_handed_over(first: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    run = await first.asked(3)
    # The time to hand over never comes.
    monkeypatch.setattr(hand_over, "SHARE", 0.0)
    leaving = asyncio.create_task(hand_over.hand_over_in_batches(first.services.records.runs, 3600.0))
    first.engine.allow(None)
    async with asyncio.timeout(20):
        await leaving
    assert (run.answer.content, run.answer.status) == (WHOLE_ANSWER, "complete")


async def test_refused_hand_over_is_left_to_the_end_of_the_lease(
    first: Server, second: Server, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def refuse(_run_ids: list[str]) -> None:
        raise OutageError("away")

    monkeypatch.setattr(first.services.store.runs, "release", refuse)
    run = await first.asked(3)
    first.lease.stop_takeovers()
    await hand_over.hand_over_in_batches(first.services.records.runs, 0.01)
    assert "a few at a time: away" in caplog.text
    assert first.run(run.id).answer.status == "in_progress"
    await first.expire()
    await second.lease.renew()
    assert (await end_of(second.run(run.id))).content == WHOLE_ANSWER
