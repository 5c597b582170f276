"""State that several servers share, with engines without a model: copies of answers, notices, keys and deletions."""

import asyncio
import time
from collections import Counter
from functools import partial
from pathlib import Path

import pytest

from app.apis.responses.schema import ResponseRequest
from app.conversations import kv_erasure
from app.domain.response_record import response_id_of
from app.runs import lease, pending_cancel
from app.runs.run import Run
from app.storage.errors import UnusableDatabaseError
from app.storage.imports import _batches
from app.storage.postgres.database import PostgresDatabase
from app.storage.postgres.listener import Listener
from app.storage.runs import CANCEL
from app.storage.servers import LEASE_SECONDS, RELEASED
from app.storage.store import Store
from app.tenants.limits import LimitReachedError, TenantLimits
from cache_tiers.owners.block_key import KEY_BYTES, BlockKey
from engine.api.errors import NotReadyError
from engine.api.outputs import PromptProgress, RequestOutput
from engine.api.stored_tokens import Trail
from tests.on_postgres import schema_of
from tests.postgres.server import WHOLE_ANSWER, Server, end_of, frames_until_end, server
from tests.postgres.test_database import end_connections
from tests.unit.stored_chats import imported

KEY = BlockKey(b"k" * KEY_BYTES)


def listener_of(store: Store) -> Listener:
    assert isinstance(store.database, PostgresDatabase)
    assert store.database._listener is not None
    return store.database._listener


async def copy_at(server: Server, run: Run) -> Run:
    copy = await server.services.records.runs.find(await server.stored(run), "local")
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
    await first.services.records.runs._save([run])
    async with asyncio.timeout(20):
        assert b'"text":" w2"' in await anext(frames)
    first.engine.allow(None)
    async with asyncio.timeout(20):
        rest = b"".join([frame async for frame in frames])
    assert b"event: done" in rest
    assert await second.stored(run) == copy.answer == await end_of(run)
    assert copy.log.text == WHOLE_ANSWER


async def test_client_of_another_server_sees_prompt_progress(first: Server, second: Server) -> None:
    await first.lease.renew()
    run = await first.asked(0)
    copy = await copy_at(second, run)
    reports = copy.log.reports()
    [request] = first.engine.requests
    progress = PromptProgress(80, 60, Counter({"redis": 20}), "computing", 1.5, 2.5)
    request.put(RequestOutput(request_id=request.request_id, text="", token_ids=(), progress=(progress,)))
    async with asyncio.timeout(20):
        assert await anext(reports) == progress
    first.engine.allow(None)
    await end_of(run)


async def test_client_of_a_stopped_server_waits_for_the_new_owner(first: Server, second: Server) -> None:
    run = await first.asked(2)
    second.lease.notice_handlers[RELEASED]("")
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
    first.lease.notice_handlers[RELEASED]("")
    async with asyncio.timeout(20):
        await first.lease.settled()
        await first.lease.stop()
    assert "the database does not answer" in caplog.text


async def test_server_that_has_stopped_waits_for_no_take_over(first: Server, second: Server) -> None:
    run = await second.asked(3)
    await first.lease.stop()
    # A notice reaches its sender too.
    first.lease.notice_handlers[RELEASED]("")
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


async def test_background_response_can_be_cancelled_at_another_server(first: Server, second: Server) -> None:
    first.engine.hold()
    asked = ResponseRequest(model=first.engine.model_name, input="one", background=True)
    _, run = await first.services.responses.create(asked)
    async with asyncio.timeout(20):
        response = await second.services.responses.cancel(response_id_of(run.answer.id))
    assert response.answer.status == "cancelled"
    assert (await end_of(run)).status == "cancelled"


async def test_cancel_at_the_former_owner_ends_the_run_of_the_next_one(first: Server, second: Server) -> None:
    run = await first.asked(3)
    await first.expire()
    second.engine.hold()
    await second.lease.renew()
    async with asyncio.timeout(20):
        await second.engine.until_running(1)
        cancelled = await first.services.turns.cancel(run.id)
    assert cancelled.status == "cancelled"
    assert await second.stored(run) == cancelled == await end_of(second.run(run.id))


async def test_cancel_at_a_server_that_hands_over_stays_with_the_run(first: Server, second: Server) -> None:
    run = await first.asked(3)
    first.services.records.runs.hold_followers()
    assert run.abort is not None
    run.abort()
    await end_of(run)
    wish = asyncio.create_task(first.services.turns.cancel(run.id))
    second.engine.hold()
    await first.expire()
    async with asyncio.timeout(20):
        while not wish.done():
            await second.lease.renew()
    assert (await wish).status == "cancelled"


async def test_cancel_at_a_silent_server_ends_with_a_reason(
    first: Server, second: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = await first.asked(3)
    await listener_of(first.services.store).stop()
    monkeypatch.setattr(pending_cancel, "CANCEL_SECONDS", 0.01)
    with pytest.raises(NotReadyError, match="does not respond"):
        await second.services.turns.cancel(run.id)
    await first.lease.renew()
    assert (await end_of(run)).status == "cancelled"


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
    shared = second.services.records.shared_runs
    assert await shared.tail(run.id, "alice") is None
    assert await shared.tail(run.id, "local") is not None
    assert await shared.tail(run.id, "alice") is None


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
    database = first.services.store.database
    async with asyncio.timeout(20):
        while '["run_none"]' not in notices:
            await database.write(lambda connection: connection.notify(CANCEL, '["run_none"]'), durable=False)


async def test_run_of_another_tenant_is_not_cancelled(first: Server, second: Server) -> None:
    run = await first.asked(2)
    await second.services.store.of("stranger").runs.ask_to_cancel([run.id])
    stored = await second.services.store.runs.find(run.id)
    assert stored is not None
    assert not stored.record.is_cancelled


async def test_changes_reach_pages_at_other_servers(first: Server, second: Server) -> None:
    await first.lease.renew()
    with (
        second.services.records.changes.followed("local") as there,
        first.services.records.changes.followed("local") as here,
    ):
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
    assert await second.services.records.runs.answering("local") == {run.answer.conversation_id}
    assert await second.services.records.runs.answering("alice") == set()
    first.engine.allow(None)
    await end_of(run)
    assert await second.services.records.runs.answering("local") == set()


async def test_missed_notices_have_pages_read_everything(tmp_path: Path, first: Server, second: Server) -> None:
    with second.services.records.changes.followed("local") as there:
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
    monkeypatch.setattr(lease, "LEASE_SECONDS", 0.2)
    monkeypatch.setattr(lease, "RENEW_SECONDS", 0.1)
    async with server(tmp_path, "second", secret=b"other") as alone:
        assert alone.lease.is_alone


async def test_revoked_key_and_new_limit_apply_at_all_servers(first: Server, second: Server) -> None:
    _, key = await first.services.access.administration.create_key("alice", "alice", "user")
    await second.services.access.ring.read()
    assert second.services.access.ring.by_key(key) is not None
    key_id = key.split("-")[2]
    await first.services.access.administration.revoke_key(key_id)
    await first.services.access.administration.set_limits("alice", TenantLimits(requests_per_minute=3))
    # As a request does a second later.
    second.services.access.ring._read_at -= 1
    await second.services.access.ring.refresh()
    assert second.services.access.ring.by_key(key) is None
    assert second.services.access.ring.limits_of("alice").requests_per_minute == 3


async def test_rate_limit_holds_for_all_servers_together(first: Server, second: Server) -> None:
    servers = (first, second)
    await first.services.access.administration.set_limits("local", TenantLimits(requests_per_minute=4))
    for each in servers:
        await each.services.access.ring.read()
        await each.lease.renew()
        for _ in range(2):
            await end_of(await each.ask())
    for each in (*servers, first):
        await each.services.access.rate_limit_sync.save()
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
    second.services.records.shared_deletions.begin()
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
    await first.services.records.shared_deletions.catch_up(first.engine)
    assert len(first.engine.erased) == 1


async def test_erasure_of_another_server_is_repeated_until_done(
    first: Server, second: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kv_erasure, "FIRST_WAIT", 0.001)
    second.engine.num_unerased = 3
    for tenant in ("local", "alice"):
        await first.services.store.erasures.add(tenant, [Trail([1, 2, 3])])
    await second.services.records.shared_deletions.catch_up(second.engine)
    # Notes are dropped after a minute.
    await first.services.store.database.write(lambda connection: connection.execute("DELETE FROM erasure"))
    second.services.model.erasure.start()
    await second.engine.until_erased(2)
    assert sorted(second.engine.erased_of) == ["alice", "local"]
    await second.services.records.shared_deletions.catch_up(second.engine)
    await until_owed(second, 0)
    assert len(second.engine.erased) == 2


async def test_erased_tokens_stay_in_the_database_for_a_minute(first: Server, second: Server) -> None:
    store = first.services.store
    await store.erasures.add("local", [Trail([1, 2, 3])])
    await first.lease.renew()
    await first.services.records.shared_deletions.catch_up(first.engine)
    assert len(await store.database.read("SELECT * FROM erasure")) == 1
    await store.database.write(lambda connection: connection.execute("UPDATE erasure SET added_at = added_at - 61"))
    await first.services.records.shared_deletions.catch_up(first.engine)
    assert await store.database.read("SELECT * FROM erasure") == []


async def until_owed(server: Server, count: int) -> None:
    """Wait until servers owe this number of erasures."""
    async with asyncio.timeout(20):
        # A row that goes is no event that a test can wait for.
        while len(await server.services.store.database.read("SELECT * FROM owed_erasure")) != count:  # noqa: ASYNC110
            await asyncio.sleep(0.001)


async def test_erasure_of_ended_server_is_tried_and_then_succeeded_to(tmp_path: Path, first: Server) -> None:
    async with server(tmp_path, "third") as ended:
        await ended.services.store.owed_erasures.add([KEY], time.time())
    await first.lease.renew()
    first.services.model.erasure.start()
    async with asyncio.timeout(20):
        # Erasures without a trail are no event that a test can wait for.
        while not first.engine.erased_keys:  # noqa: ASYNC110
            await asyncio.sleep(0.001)
    # The tiers of the server that ended may be its own.
    await until_owed(first, 1)
    async with server(tmp_path, "third") as successor:
        successor.services.model.erasure.start()
        await until_owed(first, 0)
        assert successor.engine.erased_keys == [KEY]
    assert first.engine.erased_keys == [KEY]


async def test_erasure_of_a_live_server_is_its_own(first: Server, second: Server) -> None:
    await second.services.store.owed_erasures.add([KEY], time.time())
    await first.lease.renew()
    assert first.lease.leads
    assert await first.services.model.erasure._make_all(first.engine)
    assert first.engine.erased_keys == []


async def test_deleted_tenant_gets_a_new_salt_at_all_servers(tmp_path: Path, first: Server, second: Server) -> None:
    for number, each in enumerate((first, second, first), 1):
        await each.services.access.administration.delete_tenant("alice")
        for server_ in (first, second):
            await server_.services.records.shared_deletions.catch_up(server_.engine)
            assert server_.engine.deletions_of("alice") == number
    async with server(tmp_path, "third") as third:
        await third.services.records.shared_deletions.catch_up(third.engine)
        assert third.engine.deletions_of("alice") == 3


async def test_deletions_from_the_time_of_one_server_are_shared(first: Server, second: Server) -> None:
    await first.services.access.administration.create_key("alice", "alice", "user")
    first.engine.adopt_deletion("alice", 2)
    await first.services.records.shared_deletions._publish(first.engine)
    await second.services.records.shared_deletions.catch_up(second.engine)
    assert second.engine.deletions_of("alice") == 2


async def test_deleted_tenants_requests_end_at_all_servers(first: Server, second: Server) -> None:
    run = await first.asked(2)
    await second.services.access.administration.delete_tenant("local")
    await first.services.records.shared_deletions.catch_up(first.engine)
    await end_of(run)
    assert await first.services.store.database.read("SELECT * FROM conversation") == []
