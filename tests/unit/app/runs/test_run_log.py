import asyncio
import json
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from typing import Any

from app.domain.deltas import Delta
from app.domain.records import Message
from app.runs.run_log import RunLog
from app.transport.sse import farewell_frame
from engine.api.outputs import PromptProgress

ANSWER = Message(
    id="msg_1",
    conversation_id="conv_1",
    parent_id=None,
    role="assistant",
    content="",
    status="in_progress",
    created_at=1.0,
    run_id="run_1",
)


def new_log(epoch: int = 0, deltas: Sequence[Delta] = ()) -> RunLog:
    return RunLog("run_1", ANSWER, epoch=epoch, deltas=deltas)


def say(log: RunLog, *texts: str) -> None:
    """Append the texts, one token each."""
    for text in texts:
        log.append(text, log.last_event)


def end(log: RunLog) -> None:
    log.close(ANSWER, log.last_event - 1)


def parsed(frame: bytes) -> tuple[str, str, dict[str, Any]]:
    """Parse a frame of exactly one event into (id, kind, data)."""
    assert frame.endswith(b"\n\n")
    assert frame.count(b"\n\n") == 1
    lines = dict(line.split(": ", 1) for line in frame.decode().strip().split("\n"))
    return lines["id"], lines["event"], json.loads(lines["data"])


async def drained(frames: AsyncIterator[bytes]) -> list[tuple[str, str, dict[str, Any]]]:
    async with asyncio.timeout(20):
        return [parsed(frame) async for frame in frames]


async def next_frame(frames: AsyncIterator[bytes]) -> tuple[str, str, dict[str, Any]]:
    async with asyncio.timeout(20):
        return parsed(await anext(frames))


async def test_follower_from_start_sees_all_events_numbered_in_order() -> None:
    log = new_log()
    frames = log.follow(0)
    seen = [await next_frame(frames)]
    for text in ("one", " two"):
        say(log, text)
        seen.append(await next_frame(frames))
    log.close(ANSWER, 2)
    seen += await drained(frames)
    assert [kind for _, kind, _ in seen] == ["run", "delta", "delta", "done"]
    assert [event_id for event_id, _, _ in seen] == [f"run_1:0.{n}" for n in (1, 2, 3, 4)]
    assert [data["sequence_number"] for _, _, data in seen] == [1, 2, 3, 4]


async def test_slow_follower_gets_missed_deltas_as_one_event() -> None:
    log = new_log()
    frames = log.follow(0)
    await next_frame(frames)
    say(log, "a", "b", "c")
    event_id, kind, data = await next_frame(frames)
    assert (event_id, kind, data["text"]) == ("run_1:0.4", "delta", "abc")


async def test_returning_follower_gets_missed_events_once() -> None:
    log = new_log()
    say(log, "a", "b", "c")
    end(log)
    events = await drained(log.follow(2))
    assert [(kind, data.get("text")) for _, kind, data in events] == [("delta", "bc"), ("done", None)]


async def test_follower_without_cursor_starts_with_snapshot() -> None:
    log = new_log()
    say(log, "a", "b")
    frames = log.follow(None)
    event_id, kind, data = await next_frame(frames)
    assert (event_id, kind, data["message"]["content"]) == ("run_1:0.3", "snapshot", "ab")
    say(log, "c")
    assert (await next_frame(frames))[2]["text"] == "c"


async def test_cursor_beyond_the_log_gets_snapshot() -> None:
    log = new_log()
    say(log, "a")
    assert (await next_frame(log.follow(99)))[1] == "snapshot"


async def test_cursor_on_last_event_of_ended_run_gets_nothing() -> None:
    log = new_log()
    end(log)
    assert await drained(log.follow(log.last_event)) == []


async def test_followers_share_frames_and_do_not_block_each_other() -> None:
    log = new_log()
    fast, slow = log.follow(0), log.follow(0)
    await anext(fast)
    say(log, "a")
    assert b'"text":"a"' in await anext(fast)
    say(log, "b")
    newest = await anext(fast)
    assert (await next_frame(slow))[1] == "run"
    assert (await next_frame(slow))[2]["text"] == "ab"
    third = log.follow(2)
    assert await anext(third) is newest


async def test_interrupted_run_sends_farewell_with_retry_time() -> None:
    log = new_log()
    say(log, "a")
    log.interrupt()
    frames = [frame async for frame in log.follow(0)]
    assert frames[-1] == farewell_frame()
    assert b"retry: " in frames[-1]
    assert b"id:" not in frames[-1]
    assert not log.is_closed


async def test_text_with_any_line_ends_stays_one_event() -> None:
    log = new_log()
    text = "a\nb\r\nc\rd\u2028e\n\nf"
    say(log, text)
    assert (await next_frame(log.follow(1)))[2]["text"] == text


async def test_event_number_counts_tokens_and_not_deltas() -> None:
    log = new_log()
    for text, num_tokens in (("ab", 2), ("c", 3), ("held back", 3)):
        log.append(text, num_tokens)
    log.close(ANSWER, 4)
    assert [data["sequence_number"] for _, _, data in await drained(log.follow(3))] == [5, 6]
    assert [kind for _, kind, _ in await drained(log.follow(2))] == ["snapshot", "done"]


async def test_restored_log_continues_from_any_stored_event() -> None:
    log = new_log(1, [Delta(2, "a"), Delta(4, "bc")])
    log.append("d", 4)
    end(log)
    for event_id, first in (("run_1:0.2", "bcd"), ("run_1:0.4", "d"), ("run_1:1.5", None)):
        events = await drained(log.follow(log.cursor(event_id)))
        assert [kind for _, kind, _ in events] == (["delta", "done"] if first else ["done"])
        assert events[0][2].get("text") == first
    assert [event_id for event_id, _, _ in events] == ["run_1:1.6"]


async def test_unstored_event_before_restart_is_no_cursor() -> None:
    log = new_log(1, [Delta(2, "a"), Delta(4, "bc")])
    say(log, "d", "e")
    assert log.cursor("run_1:0.5") is None
    assert log.cursor("run_1:1.5") == 5


def test_event_id_of_this_run_is_a_cursor() -> None:
    assert new_log().cursor("run_1:0.17") == 17


def test_foreign_or_malformed_event_id_is_no_cursor() -> None:
    for text in ("run_2:0.17", "run_1:1.17", "run_1:0.", "run_1:0.x", "run_1", "17", "run_1:0.-1", "run_1:0.²"):
        assert new_log().cursor(text) is None


async def test_merged_deltas_keep_reasoning_apart() -> None:
    log = new_log()
    log.append("let me ", 2, is_thought=True)
    log.append("see", 3, is_thought=True)
    log.append("yes", 5)
    assert (log.reasoning, log.text) == ("let me see", "yes")
    log.close(ANSWER, 5)
    (_, _, all_at_once), _ = await drained(log.follow(1))
    assert (all_at_once["reasoning"], all_at_once["text"]) == ("let me see", "yes")
    (_, kind, snapshot), _ = await drained(log.follow(None))
    assert kind == "snapshot"
    assert (snapshot["message"]["reasoning"], snapshot["message"]["content"]) == ("let me see", "yes")


async def test_deltas_without_reasoning_omit_its_field() -> None:
    log = new_log()
    say(log, "a")
    log.close(ANSWER, 1)
    assert "reasoning" not in (await drained(log.follow(1)))[0][2]
    assert log.reasoning is None


class Writer:
    """A connection that accepts writes while `ready`."""

    def __init__(self) -> None:
        self.ready = True
        self.filler = b""
        self.written: list[bytes] = []

    def write(self, piece: bytes) -> None:
        self.written.append(piece)

    def abort(self) -> None:
        self.ready = False


async def test_waiting_follower_is_written_to_until_connection_is_full() -> None:
    log, writer = new_log(), Writer()
    frames = log.follow(0, writer)
    await next_frame(frames)
    say(log, "a")
    assert not writer.written, "a writer that is not waiting must not be written to"
    assert (await next_frame(frames))[2]["text"] == "a"

    waiting = asyncio.ensure_future(next_frame(frames))
    await asyncio.sleep(0)
    say(log, "b", "c")
    assert [parsed(frame)[2]["text"] for frame in writer.written] == ["b", "c"]
    writer.ready = False
    say(log, "d", "e")
    assert (await waiting)[2]["text"] == "de"
    writer.ready = True

    waiting = asyncio.ensure_future(next_frame(frames))
    await asyncio.sleep(0)
    say(log, "f")
    end(log)
    assert (await waiting)[1] == "done"
    assert [parsed(frame)[2]["sequence_number"] for frame in writer.written] == [3, 4, 7]
    assert await drained(frames) == []


async def test_nothing_is_written_to_a_follower_that_left() -> None:
    log, writer = new_log(), Writer()
    frames = log.follow(None, writer)
    await next_frame(frames)
    waiting = asyncio.ensure_future(next_frame(frames))
    await asyncio.sleep(0)
    waiting.cancel()
    say(log, "a")
    assert not writer.written


async def test_reasoning_and_text_stay_apart_in_any_order() -> None:
    log = new_log()
    for said in ("?hm", "? so", "It", " is", "? wait", " 4"):
        log.append(said.removeprefix("?"), log.last_event, is_thought=said.startswith("?"))
    assert (log.text, log.reasoning) == ("It is 4", "hm so wait")
    assert [delta.text for delta in log.deltas_from(1)] == [" so", "It", " is", " wait", " 4"]
    assert [delta.is_thought for delta in log.deltas_from(0)] == [True, True, False, False, True, False]
    _, _, data = await next_frame(log.follow(3))
    assert (data["text"], data["reasoning"]) == ("It is 4", " wait")


def progress(done: int) -> PromptProgress:
    return PromptProgress(80, done, Counter(device=done), "computing", 1.0, None)


async def told(frames: AsyncIterator[bytes]) -> tuple[str, int, int | None]:
    """Return the kind of the next event, its number, and the tokens that it reports."""
    async with asyncio.timeout(20):
        lines = dict(line.split(": ", 1) for line in (await anext(frames)).decode().strip().split("\n"))
    data = json.loads(lines["data"])
    return lines["event"], data["sequence_number"], data.get("done")


async def test_follower_gets_newest_report_until_a_delta_comes() -> None:
    log = new_log(deltas=[Delta(2, "a"), Delta(3, "b")])
    frames = log.follow(0)
    assert await told(frames) == ("run", 1, None)
    assert await told(frames) == ("delta", 3, None)
    log.report(progress(10))
    log.report(progress(20))
    assert await told(frames) == ("progress", 3, 20)
    waiting = asyncio.create_task(told(frames))
    await asyncio.sleep(0)
    log.report(progress(40))
    assert await waiting == ("progress", 3, 40)
    late = log.follow(None)
    assert [(await told(late))[0] for _ in range(2)] == ["snapshot", "progress"]
    log.report(progress(60))
    log.append("c", 3)
    assert await told(frames) == ("delta", 4, None)
    end(log)
    assert [kind for _, kind, _ in await drained(frames)] == ["done"]


async def test_ready_connection_gets_deltas_after_reports() -> None:
    log, writer = new_log(), Writer()
    frames = log.follow(1, writer)
    waiting = asyncio.create_task(told(frames))
    await asyncio.sleep(0)
    log.report(progress(10))
    assert await waiting == ("progress", 1, 10)
    reading = asyncio.create_task(anext(frames))
    await asyncio.sleep(0)
    say(log, "a", "b")
    assert [parsed(frame)[2]["text"] for frame in writer.written] == ["a", "b"]
    end(log)
    assert parsed(await reading)[1] == "done"


async def test_all_reports_can_be_read_until_text_or_the_end() -> None:
    log = new_log()
    log.report(progress(10))
    reports = log.reports()
    assert (await anext(reports)).done == 10
    log.report(progress(20))
    log.report(progress(80))
    say(log, "a")
    async with asyncio.timeout(20):
        assert [report.done async for report in reports] == [20, 80]
        silent = new_log()
        say(silent, "a")
        assert [report async for report in silent.reports()] == []
        ended = new_log()
        end(ended)
        assert [report async for report in ended.reports()] == []
