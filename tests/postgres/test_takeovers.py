"""Owners of answers among several servers: leases, takeovers, fencing, and COMMITs without an answer."""

import asyncio
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from app.domain.records import new_id
from app.domain.storage_health import CommitUnknownError
from app.schemas.conversations import NewMessage
from app.storage.connection import DatabaseConnection
from app.storage.servers import LEASE_SECONDS
from tests.postgres.lost_answers import lose_answer_to_commit
from tests.postgres.server import WHOLE_ANSWER, Server, end_of, frames_until_end, server


async def test_run_of_live_server_is_left_alone(first: Server, second: Server) -> None:
    run = await first.asked(3)
    await second.lease.renew()
    assert second.services.records.runs.get(run.id, "local") is None
    first.engine.allow(None)
    assert (await end_of(run)).content == WHOLE_ANSWER


async def test_run_of_expired_server_is_finished_by_another(first: Server, second: Server) -> None:
    run = await first.asked(3)
    await first.expire()
    await second.lease.renew()
    answer = await end_of(second.run(run.id))
    assert (answer.content, answer.status) == (WHOLE_ANSWER, "complete")
    assert await second.stored(run) == answer
    [resumed] = second.engine.requests
    assert resumed.produced[:3] == first.engine.requests[0].produced[:3]


async def test_client_returns_to_the_new_owner_and_misses_nothing(first: Server, second: Server) -> None:
    run = await first.asked(3)
    await first.expire()
    second.engine.hold()
    await second.lease.renew()
    log = second.run(run.id).log
    frames = log.follow(log.cursor(f"{run.id}:0.3"))
    assert b'"text":" w2"' in await anext(frames)
    second.engine.allow(None)
    async with asyncio.timeout(20):
        rest = b"".join([frame async for frame in frames])
    assert b" w2" not in rest.split(b"event: done")[0]


async def test_zombie_writes_nothing_and_sends_its_clients_away(first: Server, second: Server) -> None:
    run = await first.asked(3)
    frames = run.log.follow(run.log.last_event)
    await first.expire()
    second.engine.hold()
    await second.lease.renew()
    # The first server wakes up: its progress and its end must not reach the database.
    first.engine.allow(None)
    await end_of(run)
    assert (await second.stored(run)).status == "in_progress"
    assert b"event: done" not in b"".join([frame async for frame in frames])
    assert first.services.records.runs.get(run.id, "local") is None
    second.engine.allow(None)
    assert (await end_of(second.run(run.id))).content == WHOLE_ANSWER
    rows = await second.services.store.database.read("SELECT * FROM run_event")
    assert rows == []


async def test_zombie_stops_a_lost_run_at_its_next_renewal(first: Server, second: Server) -> None:
    run = await first.asked(3)
    await first.expire()
    second.engine.hold()
    await second.lease.renew()
    await first.lease.renew()
    await end_of(run)
    assert first.engine.finished["abort"] == 1
    assert first.services.records.runs.get(run.id, "local") is None


async def test_progress_of_a_former_epoch_is_dropped(first: Server, second: Server) -> None:
    run = await first.asked(3)
    await first.expire()
    second.engine.hold()
    await second.lease.renew()
    first.engine.allow(1)
    await first.engine.until_produced(first.engine.requests[0], 4)
    await first.services.records.runs._save([run])
    [row] = await second.services.store.database.read("SELECT sum(length(token_ids)) AS bytes FROM run_event")
    assert row["bytes"] == 3 * 4


async def test_only_one_of_two_servers_takes_a_run_over(tmp_path: Path, first: Server, second: Server) -> None:
    run = await first.asked(3)
    await first.expire()
    async with server(tmp_path, "third") as third:
        await asyncio.gather(second.lease.renew(), third.lease.renew())
        having = [each for each in (second, third) if each.services.records.runs.get(run.id, "local") is not None]
        assert len(having) == 1
        assert (await end_of(having[0].run(run.id))).content == WHOLE_ANSWER


async def test_server_that_renews_its_lease_in_time_keeps_its_run(first: Server, second: Server) -> None:
    run = await first.asked(3)
    await first.expire()
    [left] = await second.services.store.runs.unfinished()
    await first.lease.renew()
    assert await second.services.store.runs.take_over([replace(left.record, epoch=1)]) == set()
    first.engine.allow(None)
    assert (await end_of(run)).content == WHOLE_ANSWER


async def test_restarted_server_keeps_its_runs(tmp_path: Path, second: Server) -> None:
    async with server(tmp_path, "third") as killed:
        run = await killed.asked(3)
        async with server(tmp_path, "third") as again:
            assert (await end_of(again.run(run.id))).content == WHOLE_ANSWER
        await second.lease.renew()
        assert second.services.records.runs.get(run.id, "local") is None


async def test_run_that_ends_server_after_server_is_given_up(tmp_path: Path, first: Server) -> None:
    run = await first.asked(3)
    await first.expire()
    for name in ("second", "third"):
        async with server(tmp_path, name, is_held=True) as dying:
            assert dying.services.records.runs.get(run.id, "local") is not None
            await dying.expire()
            # The next server finds the row of a server that ended without notice.
            dying.services.records.lease._task = None
    async with server(tmp_path, "last") as last:
        await end_of(last.run(run.id))
        assert last.engine.requests == []
        stored = await last.stored(run)
    assert (stored.status, stored.content) == ("incomplete", " w0 w1 w2")


async def test_server_silent_for_the_length_of_a_lease_is_dead(first: Server, second: Server) -> None:
    run = await first.asked(3)
    for now in range(int(LEASE_SECONDS)):
        second.lease._clock = partial(float, now)
        await second.lease.renew()
        assert second.services.records.runs.get(run.id, "local") is None
    second.lease._clock = partial(float, LEASE_SECONDS)
    await second.lease.renew()
    assert (await end_of(second.run(run.id))).content == WHOLE_ANSWER


async def test_lease_renewed_in_the_last_moment_continues(first: Server, second: Server) -> None:
    run = await first.asked(3)
    await second.lease.renew()
    standing = await second.services.store.servers.renew()
    await first.lease.renew()
    await second.services.store.servers.renew(expired=standing.others)
    assert await second.services.store.runs.unfinished() == []
    first.engine.allow(None)
    assert (await end_of(run)).content == WHOLE_ANSWER


async def test_outage_of_the_database_ends_no_lease(first: Server, second: Server) -> None:
    run = await first.asked(3)
    await second.lease.renew()
    second.lease._clock = lambda: 60.0
    await second.lease.renew()
    assert second.services.records.runs.get(run.id, "local") is None
    assert not second.lease.is_alone


async def test_loading_server_leaves_runs_to_a_ready_one(tmp_path: Path, first: Server, second: Server) -> None:
    run = await first.asked(3)
    async with server(tmp_path, "loading", is_ready=False) as loading:
        await second.lease.renew()
        await loading.lease.renew()
        await first.expire()
        await loading.lease.renew()
        assert loading.services.records.runs.get(run.id, "local") is None
        await second.lease.renew()
        assert (await end_of(second.run(run.id))).content == WHOLE_ANSWER


async def test_loading_server_continues_runs_if_none_is_ready(tmp_path: Path) -> None:
    async with server(tmp_path, "leaving") as leaving, server(tmp_path, "loading", is_ready=False) as loading:
        run = await leaving.asked(3)
        leaving.lease.stop_takeovers()
        await leaving.services.records.runs.hand_over([run])
        await leaving.lease.renew()
        await loading.lease.renew()
        assert loading.run(run.id).answer.status == "in_progress"
        loading.ready()
        assert (await end_of(loading.run(run.id))).content == WHOLE_ANSWER


async def test_restarted_server_leaves_its_runs_to_a_ready_one(tmp_path: Path, second: Server) -> None:
    await second.lease.renew()
    async with server(tmp_path, "killed") as killed:
        run = await killed.asked(3)
        async with server(tmp_path, "killed", is_ready=False) as again:
            assert again.services.records.runs.get(run.id, "local") is None
            await second.lease.renew()
            assert (await end_of(second.run(run.id))).content == WHOLE_ANSWER


async def test_oldest_server_leads_until_its_lease_ends(first: Server, second: Server) -> None:
    for each in (first, second):
        await each.lease.renew()
    assert (first.lease.leads, second.lease.leads) == (True, False)
    assert not second.lease.is_alone
    await first.expire()
    await second.lease.renew()
    assert second.lease.leads
    assert second.lease.is_alone


async def test_turn_whose_commit_was_in_doubt_begins(first: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    conversation = await first.services.store.conversations.create({})
    lose_answer_to_commit(monkeypatch)
    run = await first.services.turns.ask(conversation.id, NewMessage(content="one"))
    assert (await end_of(run)).content == WHOLE_ANSWER


async def test_deleted_answer_of_a_dead_server_ends(first: Server, second: Server) -> None:
    run = await first.asked(3)
    await first.services.store.deletions.hide_conversation(run.answer.conversation_id)
    await first.expire()
    await second.lease.renew()
    assert await second.services.store.database.read("SELECT 1 FROM run") == []
    [row] = await second.services.store.database.read(
        "SELECT status, content FROM message WHERE id = ?", (run.answer.id,)
    )
    assert row["status"] == "incomplete"


async def test_run_unknown_to_its_owner_is_resumed(first: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    conversation = await first.services.store.conversations.create({})
    lose_answer_to_commit(monkeypatch, is_away=True)
    with pytest.raises(CommitUnknownError):
        await first.services.turns.ask(conversation.id, NewMessage(content="one"))
    [run_id] = await first.services.store.runs.in_progress()
    await first.lease.renew()
    assert first.services.records.runs.get(run_id, "local") is None
    await first.lease.renew()
    run = first.run(run_id)
    assert (await end_of(run)).content == WHOLE_ANSWER
    assert await first.stored(run) == run.answer


async def test_repeated_question_whose_commit_was_in_doubt_is_one(
    first: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    conversation = await first.services.store.conversations.create({})
    question = NewMessage(content="one", id=new_id("msg"))
    lose_answer_to_commit(monkeypatch, is_away=True)
    with pytest.raises(CommitUnknownError):
        await first.services.turns.ask(conversation.id, question)
    copy = await first.services.turns.ask(conversation.id, question)
    assert copy.answer.status == "in_progress"
    for _ in range(2):
        await first.lease.renew()
    again = await first.services.turns.ask(conversation.id, question)
    assert again.id == copy.id
    assert (await end_of(again)).content == WHOLE_ANSWER
    assert b"server_restart" in (await frames_until_end(copy))[-1]
    assert [each.status for each in await first.services.store.messages.path(again.answer.id)] == ["complete"] * 2
    assert await first.services.store.database.read("SELECT * FROM run") == []


async def test_take_over_whose_commit_was_in_doubt_resumes(
    first: Server, second: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = await first.asked(3)
    await first.expire()
    [left] = await second.services.store.runs.unfinished()
    lose_answer_to_commit(monkeypatch)
    assert await second.services.store.runs.take_over([replace(left.record, epoch=1)]) == {run.id}


async def test_end_lost_by_the_database_is_stored_again(first: Server) -> None:
    run = await first.asked(3)
    [row] = await first.services.store.database.read("SELECT * FROM run")
    first.engine.allow(None)
    answer = await end_of(run)

    def crash(connection: DatabaseConnection) -> None:
        columns = list(row.keys())
        connection.execute(
            f"INSERT INTO run({', '.join(columns)}) OVERRIDING SYSTEM VALUE VALUES ({', '.join('?' * len(columns))})",
            [*row],
        )
        connection.execute("UPDATE message SET status = 'in_progress', content = '' WHERE id = ?", (answer.id,))

    await first.services.store.database.write(crash)
    await first.lease.renew()
    assert (await first.stored(run)).status == "in_progress"
    await first.lease.renew()
    await first.services.records.runs.settle()
    assert await first.stored(run) == answer
    assert await first.services.store.runs.in_progress() == {}
