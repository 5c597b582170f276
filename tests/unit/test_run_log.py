import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from typing import Any

from app.deltas import Delta
from app.records import Message
from app.run_log import RunLog
from app.sse import farewell_frame

ANSWER = Message("msg_1", "conv_1", None, "assistant", "", "in_progress", created_at=1.0, run_id="run_1")


def new_log(epoch: int = 0, deltas: Sequence[Delta] = ()) -> RunLog:
    return RunLog("run_1", ANSWER, {"message": ANSWER.to_json()}, epoch=epoch, deltas=deltas)


def say(log: RunLog, *texts: str) -> None:
    """Each with one token more."""
    for text in texts:
        log.append(text, log.last_event)


def end(log: RunLog) -> None:
    log.close("done", {}, log.last_event - 1)


def parsed(frame: bytes) -> tuple[str, str, dict[str, Any]]:
    """(id, kind, data) of one frame, which must be exactly one event."""
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


async def test_a_follower_from_the_start_sees_every_event_numbered_in_order() -> None:
    log = new_log()
    frames = log.follow(0)
    seen = [await next_frame(frames)]
    for text in ("one", " two"):
        say(log, text)
        seen.append(await next_frame(frames))
    log.close("done", {"message": {}}, 2)
    seen += await drained(frames)
    assert [kind for _, kind, _ in seen] == ["run", "delta", "delta", "done"]
    assert [event_id for event_id, _, _ in seen] == [f"run_1:0.{n}" for n in (1, 2, 3, 4)]
    assert [data["sequence_number"] for _, _, data in seen] == [1, 2, 3, 4]


async def test_what_a_slow_follower_missed_comes_as_one_event_under_the_last_number() -> None:
    log = new_log()
    frames = log.follow(0)
    await next_frame(frames)
    say(log, "a", "b", "c")
    event_id, kind, data = await next_frame(frames)
    assert (event_id, kind, data["text"]) == ("run_1:0.4", "delta", "abc")


async def test_a_follower_that_comes_back_gets_what_it_missed_and_nothing_twice() -> None:
    log = new_log()
    say(log, "a", "b", "c")
    end(log)
    events = await drained(log.follow(2))
    assert [(kind, data.get("text")) for _, kind, data in events] == [("delta", "bc"), ("done", None)]


async def test_a_follower_without_a_cursor_begins_with_a_snapshot_of_the_text() -> None:
    log = new_log()
    say(log, "a", "b")
    frames = log.follow(None)
    event_id, kind, data = await next_frame(frames)
    assert (event_id, kind, data["message"]["content"]) == ("run_1:0.3", "snapshot", "ab")
    say(log, "c")
    assert (await next_frame(frames))[2]["text"] == "c"


async def test_a_cursor_that_the_log_never_reached_gets_a_snapshot() -> None:
    log = new_log()
    say(log, "a")
    assert (await next_frame(log.follow(99)))[1] == "snapshot"


async def test_a_cursor_on_the_last_event_of_an_ended_run_gets_nothing() -> None:
    log = new_log()
    end(log)
    assert await drained(log.follow(log.last_event)) == []


async def test_followers_share_the_bytes_of_a_new_event_and_do_not_wait_for_each_other() -> None:
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


async def test_an_interrupted_run_says_farewell_and_when_to_come_back() -> None:
    log = new_log()
    say(log, "a")
    log.interrupt()
    frames = [frame async for frame in log.follow(0)]
    assert frames[-1] == farewell_frame()
    assert b"retry: " in frames[-1]
    assert b"id:" not in frames[-1]
    assert not log.is_closed


async def test_text_with_line_ends_of_any_kind_stays_one_event() -> None:
    log = new_log()
    text = "a\nb\r\nc\rd\u2028e\n\nf"
    say(log, text)
    assert (await next_frame(log.follow(1)))[2]["text"] == text


async def test_a_number_counts_the_tokens_so_it_does_not_matter_how_the_text_was_cut() -> None:
    log = new_log()
    for text, num_tokens in (("ab", 2), ("c", 3), ("held back", 3)):
        log.append(text, num_tokens)
    log.close("done", {}, 4)
    assert [data["sequence_number"] for _, _, data in await drained(log.follow(3))] == [5, 6]
    assert [kind for _, kind, _ in await drained(log.follow(2))] == ["snapshot", "done"]


async def test_a_log_that_another_process_began_goes_on_from_any_of_its_events() -> None:
    log = new_log(1, [Delta(2, "a"), Delta(4, "bc")])
    log.append("d", 4)
    end(log)
    for event_id, first in (("run_1:0.2", "bcd"), ("run_1:0.4", "d"), ("run_1:1.5", None)):
        events = await drained(log.follow(log.cursor(event_id)))
        assert [kind for _, kind, _ in events] == (["delta", "done"] if first else ["done"])
        assert events[0][2].get("text") == first
    assert [event_id for event_id, _, _ in events] == ["run_1:1.6"]


async def test_what_was_said_but_not_stored_before_the_restart_is_no_cursor() -> None:
    log = new_log(1, [Delta(2, "a"), Delta(4, "bc")])
    say(log, "d", "e")
    assert log.cursor("run_1:0.5") is None
    assert log.cursor("run_1:1.5") == 5


def test_an_event_id_of_this_run_is_a_cursor() -> None:
    assert new_log().cursor("run_1:0.17") == 17


def test_an_event_id_of_another_run_or_of_a_later_process_or_none_at_all_is_no_cursor() -> None:
    for text in ("run_2:0.17", "run_1:1.17", "run_1:0.", "run_1:0.x", "run_1", "17", "run_1:0.-1", "run_1:0.²"):
        assert new_log().cursor(text) is None


async def test_thoughts_come_apart_also_where_several_deltas_are_sent_as_one() -> None:
    log = new_log()
    log.append("let me ", 2, is_thought=True)
    log.append("see", 3, is_thought=True)
    log.append("yes", 5)
    assert (log.reasoning, log.text) == ("let me see", "yes")
    log.close("done", {}, 5)
    (_, _, all_at_once), _ = await drained(log.follow(1))
    assert (all_at_once["reasoning"], all_at_once["text"]) == ("let me see", "yes")
    (_, kind, snapshot), _ = await drained(log.follow(None))
    assert kind == "snapshot"
    assert (snapshot["message"]["reasoning"], snapshot["message"]["content"]) == ("let me see", "yes")


async def test_an_answer_without_thoughts_never_speaks_of_them_in_its_deltas() -> None:
    log = new_log()
    say(log, "a")
    log.close("done", {}, 1)
    assert "reasoning" not in (await drained(log.follow(1)))[0][2]
    assert log.reasoning is None


class Writer:
    """A connection that takes pieces while `ready`."""

    def __init__(self) -> None:
        self.ready = True
        self.filler = b""
        self.written: list[bytes] = []

    def write(self, piece: bytes) -> None:
        self.written.append(piece)

    def abort(self) -> None:
        self.ready = False


async def test_what_comes_while_a_follower_waits_is_written_and_what_its_connection_does_not_take_is_yielded() -> None:
    log, writer = new_log(), Writer()
    frames = log.follow(0, writer)
    await next_frame(frames)
    say(log, "a")
    assert not writer.written, "it was not waiting: somebody may be sending the frame before"
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


async def test_a_follower_that_has_left_is_written_nothing() -> None:
    log, writer = new_log(), Writer()
    frames = log.follow(None, writer)
    await next_frame(frames)
    waiting = asyncio.ensure_future(next_frame(frames))
    await asyncio.sleep(0)
    waiting.cancel()
    say(log, "a")
    assert not writer.written


async def test_thoughts_and_text_are_kept_apart_in_whatever_order_they_come() -> None:
    log = new_log()
    for said in ("?hm", "? so", "It", " is", "? wait", " 4"):
        log.append(said.removeprefix("?"), log.last_event, is_thought=said.startswith("?"))
    assert (log.text, log.reasoning) == ("It is 4", "hm so wait")
    assert [delta.text for delta in log.deltas_from(1)] == [" so", "It", " is", " wait", " 4"]
    assert [delta.is_thought for delta in log.deltas_from(0)] == [True, True, False, False, True, False]
    _, _, data = await next_frame(log.follow(3))
    assert (data["text"], data["reasoning"]) == ("It is 4", " wait")
