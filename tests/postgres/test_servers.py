"""Several servers on one database, with engines without a model: leases, takeovers, fencing and leadership."""

import asyncio
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from app.domain.ids import new_id
from app.domain.storage_health import CommitUnknownError
from app.runs import lease, lease_watch, shared_runs
from app.runs.run import Run
from app.schemas.conversations import NewMessage
from app.storage.connection import Connection
from app.storage.errors import UnusableDatabaseError
from app.storage.imports import _batches
from app.storage.postgres.database import PostgresDatabase
from app.storage.postgres.listener import Listener
from app.storage.servers import LEASE_SECONDS, RELEASED
from app.storage.store import Store
from app.tenants.limits import LimitReachedError, TenantLimits
from engine.errors import EngineError, NotReadyError
from engine.trail import Trail
from tests.on_postgres import schema_of
from tests.postgres.lost_answers import lose_answer_to_commit
from tests.postgres.server import WHOLE_ANSWER, Server, end_of, frames_until_end, server
from tests.postgres.test_database import end_connections
from tests.unit.stored_chats import imported


def listener_of(store: Store) -> Listener:
    assert isinstance(store.database, PostgresDatabase)
    assert store.database._listener is not None
    return store.database._listener


async def test_run_of_live_server_is_left_alone(first: Server, second: Server) -> None:
    run = await first.asked(3)
    await second.lease.renew()
    assert second.services.runs.get(run.id, "local") is None
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
    assert first.services.runs.get(run.id, "local") is None
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
    assert first.services.runs.get(run.id, "local") is None


async def test_progress_of_a_former_epoch_is_dropped(first: Server, second: Server) -> None:
    run = await first.asked(3)
    await first.expire()
    second.engine.hold()
    await second.lease.renew()
    first.engine.allow(1)
    await first.engine.until_produced(first.engine.requests[0], 4)
    await first.services.runs._save([run])
    [row] = await second.services.store.database.read("SELECT sum(length(token_ids)) AS bytes FROM run_event")
    assert row["bytes"] == 3 * 4


async def test_only_one_of_two_servers_takes_a_run_over(tmp_path: Path, first: Server, second: Server) -> None:
    run = await first.asked(3)
    await first.expire()
    async with server(tmp_path, "third") as third:
        await asyncio.gather(second.lease.renew(), third.lease.renew())
        having = [each for each in (second, third) if each.services.runs.get(run.id, "local") is not None]
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
        assert second.services.runs.get(run.id, "local") is None


async def test_run_that_ends_server_after_server_is_given_up(tmp_path: Path, first: Server) -> None:
    run = await first.asked(3)
    await first.expire()
    for name in ("second", "third"):
        async with server(tmp_path, name, is_held=True) as dying:
            assert dying.services.runs.get(run.id, "local") is not None
            await dying.expire()
            # The next server finds the row of a server that ended without notice.
            dying.services.lease._task = None
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
        assert second.services.runs.get(run.id, "local") is None
    second.lease._clock = partial(float, LEASE_SECONDS)
    await second.lease.renew()
    assert (await end_of(second.run(run.id))).content == WHOLE_ANSWER


async def test_lease_renewed_in_the_last_moment_goes_on(first: Server, second: Server) -> None:
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
    assert second.services.runs.get(run.id, "local") is None
    assert not second.lease.is_alone


async def test_loading_server_leaves_runs_to_a_ready_one(tmp_path: Path, first: Server, second: Server) -> None:
    run = await first.asked(3)
    async with server(tmp_path, "loading", is_ready=False) as loading:
        await second.lease.renew()
        await loading.lease.renew()
        await first.expire()
        await loading.lease.renew()
        assert loading.services.runs.get(run.id, "local") is None
        await second.lease.renew()
        assert (await end_of(second.run(run.id))).content == WHOLE_ANSWER


async def test_loading_server_continues_runs_if_none_is_ready(tmp_path: Path) -> None:
    async with server(tmp_path, "leaving") as leaving, server(tmp_path, "loading", is_ready=False) as loading:
        run = await leaving.asked(3)
        leaving.lease.leave()
        await leaving.services.runs.hand_over([run])
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
            assert again.services.runs.get(run.id, "local") is None
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


async def copy_at(server: Server, run: Run) -> Run:
    copy = await server.services.runs.find(await server.stored(run), "local")
    assert copy is not None
    return copy


async def test_client_of_another_server_follows_an_answer_live(first: Server, second: Server) -> None:
    run = await first.asked(2)
    copy = await copy_at(second, run)
    conversation = await second.services.store.conversations.get(run.answer.conversation_id)
    [[_, shown]] = [part async for part in second.services.turns.shown_path(conversation)]
    assert (shown.content, shown.status) == (" w0 w1", "in_progress")
    frames = copy.log.follow(None)
    assert b" w0 w1" in await anext(frames)
    first.engine.allow(1)
    await first.engine.until_produced(first.engine.requests[0], 3)
    await first.services.runs._save([run])
    async with asyncio.timeout(20):
        assert b'"text":" w2"' in await anext(frames)
    first.engine.allow(None)
    async with asyncio.timeout(20):
        rest = b"".join([frame async for frame in frames])
    assert b"event: done" in rest
    assert await second.stored(run) == copy.answer == await end_of(run)
    assert copy.log.text == WHOLE_ANSWER


async def test_client_of_a_stopped_server_waits_for_the_new_owner(first: Server, second: Server) -> None:
    run = await first.asked(2)
    second.lease.heed(RELEASED)
    coming = asyncio.create_task(copy_at(second, run))
    await first.expire()
    keeping = asyncio.create_task(second.lease._keep())
    try:
        async with asyncio.timeout(20):
            assert await coming is second.run(run.id)
    finally:
        keeping.cancel()


async def test_clients_and_a_stop_wait_for_no_database_that_hangs(
    first: Server, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    for limit in ("LEASE_SECONDS", "RELEASE_SECONDS"):
        monkeypatch.setattr(lease, limit, 0.01)
    monkeypatch.setattr(first.services.store.servers, "release", asyncio.Event().wait)
    first.lease.heed(RELEASED)
    async with asyncio.timeout(20):
        await first.lease.settled()
        await first.lease.stop()
    assert "the database does not answer" in caplog.text


async def test_server_that_has_stopped_waits_for_no_take_over(first: Server, second: Server) -> None:
    run = await second.asked(3)
    await first.lease.stop()
    # A notice reaches its sender too.
    first.lease.heed(RELEASED)
    async with asyncio.timeout(LEASE_SECONDS / 2):
        await first.lease.settled()
        assert (await copy_at(first, run)).log.text == " w0 w1 w2"


async def test_client_changes_servers_within_an_answer(first: Server, second: Server) -> None:
    run = await first.asked(3)
    copy = await copy_at(second, run)
    assert copy.log.cursor(f"{run.id}:0.3") == 3
    first.engine.allow(None)
    rest = b"".join(await frames_until_end(copy, 3))
    assert b"snapshot" not in rest
    said = rest.split(b"event: done")[0]
    assert b'"text":" w2"' in said
    assert b'"text":" w1"' not in said
    assert (await end_of(run)).content == copy.answer.content


async def test_followers_of_a_copy_move_to_the_new_owner(tmp_path: Path, first: Server, second: Server) -> None:
    run = await first.asked(3)
    async with server(tmp_path, "third") as third:
        copy = await copy_at(third, run)
        await first.expire()
        second.engine.hold()
        await second.lease.renew()
        last = (await frames_until_end(copy))[-1]
        assert b"server_restart" in last
        again = await copy_at(third, run)
        assert again.log.cursor(f"{run.id}:0.4") == 4
        second.engine.allow(None)
        assert b"event: done" in (await frames_until_end(again))[-1]
        assert again.log.text == WHOLE_ANSWER


async def test_run_can_be_cancelled_at_another_server(first: Server, second: Server) -> None:
    run = await first.asked(3)
    async with asyncio.timeout(20):
        answer = await second.services.turns.cancel(run.id)
    assert (answer.status, answer.content) == ("cancelled", " w0 w1 w2")
    assert (await end_of(run)).status == "cancelled"


async def test_cancel_at_a_silent_server_ends_with_a_reason(
    first: Server, second: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = await first.asked(3)
    await listener_of(first.services.store).stop()
    monkeypatch.setattr(shared_runs, "CANCEL_SECONDS", 0.01)
    with pytest.raises(NotReadyError, match="does not respond"):
        await second.services.turns.cancel(run.id)
    await first.lease.renew()
    assert (await end_of(run)).status == "cancelled"


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
    [run_id] = await first.services.store.runs.ids(conversation.id)
    await first.lease.renew()
    assert first.services.runs.get(run_id, "local") is None
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

    def crash(connection: Connection) -> None:
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
    await first.services.runs.settle()
    assert await first.stored(run) == answer
    assert await first.services.store.runs.ids() == []


async def test_wish_to_cancel_outlives_the_owner(first: Server, second: Server) -> None:
    run = await first.asked(3)
    await listener_of(first.services.store).stop()
    wish = asyncio.create_task(second.services.turns.cancel(run.id))
    await first.expire()
    async with asyncio.timeout(20):
        while (left := await second.services.store.runs.find(run.id)) is not None and not left.record.is_cancelled:
            pass
        await second.lease.renew()
        assert (await wish).status == "cancelled"


async def test_renewal_notices_a_wish_to_cancel(first: Server, second: Server) -> None:
    run = await first.asked(3)
    await listener_of(first.services.store).stop()
    await second.services.store.runs.ask_to_cancel([run.id])
    await first.lease.renew()
    assert (await end_of(run)).status == "cancelled"


async def test_deleted_conversation_ends_its_runs_at_all_servers(first: Server, second: Server) -> None:
    run = await first.asked(3)
    await second.services.deletions.delete_conversation(run.answer.conversation_id)
    assert (await end_of(run)).status == "cancelled"


async def test_tenant_never_sees_a_copy_of_another_tenants_run(first: Server, second: Server) -> None:
    run = await first.asked(3)
    bus = second.services.shared_runs
    assert bus is not None
    assert await bus.tail(run.id, "alice") is None
    assert await bus.tail(run.id, "local") is not None
    assert await bus.tail(run.id, "alice") is None


async def test_lost_notices_delay_a_copy_only(first: Server, second: Server) -> None:
    run = await first.asked(2)
    copy = await copy_at(second, run)
    await listener_of(second.services.store).stop()
    first.engine.allow(None)
    assert b"event: done" in (await frames_until_end(copy))[-1]


async def test_lost_listening_connection_is_made_again(
    tmp_path: Path, first: Server, second: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("app.storage.postgres.listener.PAUSE_SECONDS", 0.01)
    notices = list[str]()
    monkeypatch.setattr(listener_of(second.services.store), "_on_notice", lambda _topic, text: notices.append(text))
    end_connections(schema_of(tmp_path))
    async with asyncio.timeout(20):
        while '["run_none"]' not in notices:
            await first.services.store.runs.ask_to_cancel(["run_none"])


async def test_changes_reach_pages_at_other_servers(first: Server, second: Server) -> None:
    await first.lease.renew()
    with second.services.changes.followed("local") as there, first.services.changes.followed("local") as here:
        run = await first.ask()
        await end_of(run)
        seen = dict[str, bool]()
        async with asyncio.timeout(20):
            while not seen.get(run.answer.conversation_id):
                await there.wait()
                seen |= there.take() or {}
        assert list(seen) == [run.answer.conversation_id]
        assert here.take() == seen


async def test_chat_answered_elsewhere_counts_as_being_answered(first: Server, second: Server) -> None:
    run = await first.asked(2)
    assert await second.services.runs.answering("local") == {run.answer.conversation_id}
    assert await second.services.runs.answering("alice") == set()
    first.engine.allow(None)
    await end_of(run)
    assert await second.services.runs.answering("local") == set()


async def test_missed_notices_have_pages_read_everything(tmp_path: Path, first: Server, second: Server) -> None:
    with second.services.changes.followed("local") as there:
        end_connections(schema_of(tmp_path))
        async with asyncio.timeout(20):
            await there.wait()
        assert there.take() is None


async def test_server_with_another_secret_is_refused(tmp_path: Path, first: Server) -> None:
    starting = asyncio.create_task(server(tmp_path, "second", secret=b"other").__aenter__())
    async with asyncio.timeout(20):
        while not starting.done():
            await first.lease.renew()
            await asyncio.wait([starting], timeout=0.1)
    assert isinstance(error := starting.exception(), UnusableDatabaseError)
    assert "--secret-file" in str(error)


async def test_secret_of_a_dead_server_is_not_asked_for(
    tmp_path: Path, first: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lease_watch, "LEASE_SECONDS", 0.2)
    monkeypatch.setattr(lease, "RENEW_SECONDS", 0.1)
    async with server(tmp_path, "second", secret=b"other") as alone:
        assert alone.lease.is_alone


async def test_revoked_key_and_new_limit_apply_at_all_servers(first: Server, second: Server) -> None:
    _, key = await first.services.administration.create_key("alice", "alice", "user")
    await second.services.ring.read()
    assert second.services.ring.by_key(key) is not None
    key_id = key.split("-")[2]
    await first.services.administration.revoke_key(key_id)
    await first.services.administration.set_limits("alice", TenantLimits(requests_per_minute=3))
    # As a request does a second later.
    second.services.ring._read_at -= 1
    await second.services.ring.refresh()
    assert second.services.ring.by_key(key) is None
    assert second.services.ring.limits_of("alice").requests_per_minute == 3


async def test_rate_limit_holds_for_all_servers_together(first: Server, second: Server) -> None:
    servers = (first, second)
    await first.services.administration.set_limits("local", TenantLimits(requests_per_minute=4))
    for each in servers:
        await each.services.ring.read()
        await each.lease.renew()
        for _ in range(2):
            await end_of(await each.ask())
    for each in (*servers, first):
        await each.services.use_keeper.save()
    for each in servers:
        with pytest.raises(LimitReachedError):
            await each.ask()


async def test_import_of_a_live_server_is_not_discarded(tmp_path: Path, first: Server, second: Server) -> None:
    imports = first.services.store.imports
    staged = [imported("conv_1", ["gulls"] * 3)]

    async def interrupted() -> None:
        batches = list(_batches(staged))
        stage = partial(imports._stage, import_id=f"{first.services.store.database.server}import_1", with_origin=True)
        await first.services.store.database.write(lambda connection: stage(connection, batch=batches[0]))

    await interrupted()
    await second.services.store.imports.discard_former()
    assert len(await second.services.store.database.read("SELECT * FROM staged")) == 1
    await first.expire()
    await second.services.store.imports.discard_former()
    assert await second.services.store.database.read("SELECT * FROM staged") == []


async def test_removed_chat_leaves_the_memory_of_all_servers(first: Server, second: Server) -> None:
    second.services.shared_deletions.begin()
    run = await first.ask()
    await end_of(run)
    await first.services.deletions.delete_conversation(run.answer.conversation_id, permanently=True)
    async with asyncio.timeout(20):
        [here] = await first.engine.until_erased(1)
        [there] = await second.engine.until_erased(1)
    assert list(there.token_ids) == list(here.token_ids)
    assert (there.num_shared, list(there.ends)) == (here.num_shared, list(here.ends))
    assert second.engine.erased_of == ["local"]
    # The server that has erased the blocks does not do so again.
    await first.services.shared_deletions.catch_up(first.engine)
    assert len(first.engine.erased) == 1


async def test_erasure_that_failed_is_repeated_until_done(
    first: Server, second: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = first.services.store
    for tenant in ("local", "alice"):
        await first.services.shared_deletions.share(tenant, [Trail([1, 2, 3])])

    async def fail(_trails: object, **_given: object) -> None:
        raise EngineError("away")

    with monkeypatch.context() as failing:
        failing.setattr(second.engine, "erase", fail)
        with pytest.raises(EngineError):
            await second.services.shared_deletions.catch_up(second.engine)
    # Notes are dropped after a minute.
    await store.database.write(lambda connection: connection.execute("DELETE FROM erasure"))
    await second.services.shared_deletions.catch_up(second.engine)
    assert second.engine.erased_of == ["local", "alice"]
    await second.services.shared_deletions.catch_up(second.engine)
    assert len(second.engine.erased) == 2


async def test_erased_tokens_stay_in_the_database_for_a_minute(first: Server, second: Server) -> None:
    store = first.services.store
    await first.services.shared_deletions.share("local", [Trail([1, 2, 3])])
    await first.lease.renew()
    await first.services.shared_deletions.catch_up(first.engine)
    assert len(await store.database.read("SELECT * FROM erasure")) == 1
    await store.database.write(lambda connection: connection.execute("UPDATE erasure SET added_at = added_at - 61"))
    await first.services.shared_deletions.catch_up(first.engine)
    assert await store.database.read("SELECT * FROM erasure") == []


async def test_deleted_tenant_gets_a_new_salt_at_all_servers(tmp_path: Path, first: Server, second: Server) -> None:
    for number, each in enumerate((first, second, first), 1):
        await each.services.administration.delete_tenant("alice")
        for server_ in (first, second):
            await server_.services.shared_deletions.catch_up(server_.engine)
            assert server_.engine.deletions_of("alice") == number
    async with server(tmp_path, "third") as third:
        await third.services.shared_deletions.catch_up(third.engine)
        assert third.engine.deletions_of("alice") == 3


async def test_deletions_from_the_time_of_one_server_are_shared(first: Server, second: Server) -> None:
    await first.services.administration.create_key("alice", "alice", "user")
    first.engine.deletions["alice"] = 2
    await first.services.shared_deletions._publish(first.engine)
    await second.services.shared_deletions.catch_up(second.engine)
    assert second.engine.deletions_of("alice") == 2


async def test_deleted_tenants_requests_end_at_all_servers(first: Server, second: Server) -> None:
    run = await first.asked(2)
    await second.services.administration.delete_tenant("local")
    await first.services.shared_deletions.catch_up(first.engine)
    await end_of(run)
    assert await first.services.store.database.read("SELECT * FROM conversation") == []
