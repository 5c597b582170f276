"""Outputs of one request, as a late reader and a listener receive them."""

import asyncio
import weakref
from collections.abc import Sequence
from contextlib import suppress

import pytest

from engine.api import request_stream
from engine.api.outputs import RequestOutput, TokenLogprobs, joined
from engine.api.request_stream import MAX_MERGED, MAX_MERGED_LOGPROBS, RequestStream
from engine.api.sampling_params import SamplingParams

FIRST = RequestOutput(request_id="r", text="one ", token_ids=(1,))
SECOND = RequestOutput(request_id="r", text="two ", token_ids=(2,), reasoning="hm")
LAST = RequestOutput(request_id="r", text="three", token_ids=(3,), finish_reason="stop")


@pytest.fixture
def stream() -> RequestStream:
    return RequestStream("r", SamplingParams(), lambda _: None)


async def test_unread_outputs_are_merged(stream: RequestStream) -> None:
    stream.put(FIRST)
    stream.put(SECOND)
    assert await anext(stream) == RequestOutput(request_id="r", text="one two ", token_ids=(1, 2), reasoning="hm")
    stream.put(LAST)
    assert [output async for output in stream] == [LAST]


async def test_unread_output_is_not_merged_again(stream: RequestStream, monkeypatch: pytest.MonkeyPatch) -> None:
    merged = list[int]()

    def count(outputs: Sequence[RequestOutput]) -> RequestOutput:
        merged.append(len(outputs))
        return joined(outputs)

    monkeypatch.setattr(request_stream, "joined", count)
    for number in range(1000):
        stream.put(RequestOutput(request_id="r", text=f"{number} ", token_ids=(number,)))
    assert merged == []
    stream.put(LAST)
    outputs = [output async for output in stream]
    assert sum(merged) <= 1001
    assert max(len(output.token_ids) for output in outputs) == MAX_MERGED
    assert [id_ for output in outputs for id_ in output.token_ids] == [*range(1000), 3]


async def test_unread_logprobs_are_merged_in_small_pieces(stream: RequestStream) -> None:
    logprobs = (TokenLogprobs(1, -0.5, ((1, -0.5),)),)
    for number in range(20):
        stream.put(RequestOutput(request_id="r", text="", token_ids=(number,), logprobs=logprobs))
    stream.put(LAST)
    assert [len(output.token_ids) async for output in stream] == [MAX_MERGED_LOGPROBS] * 10 + [1]


async def test_backlog_leaves_the_loop_to_others_between_pieces(stream: RequestStream) -> None:
    for number in range(3 * MAX_MERGED):
        stream.put(RequestOutput(request_id="r", text="", token_ids=(number,)))
    stream.put(LAST)
    turns = 0

    async def count() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    async with asyncio.TaskGroup() as tasks:
        counting = tasks.create_task(count())
        num_pieces = len([output async for output in stream])
        counting.cancel()
    assert (num_pieces, turns) == (4, 3)


async def test_listener_receives_unread_output_in_pieces(stream: RequestStream) -> None:
    for number in range(200):
        stream.put(RequestOutput(request_id="r", text="", token_ids=(number,)))
    heard = list[int]()

    def on_output(output: RequestOutput) -> bool:
        if len(heard) >= 100:
            return False
        heard.extend(output.token_ids)
        return True

    stream.set_listener(on_output)
    stream.put(LAST)
    outputs = [output async for output in stream]
    assert [*heard, *(id_ for output in outputs for id_ in output.token_ids)] == [*range(200), 3]


async def test_waiting_reader_is_woken_once_for_several_outputs(stream: RequestStream) -> None:
    reading = asyncio.create_task(anext(stream))
    await asyncio.sleep(0)
    stream.put(FIRST)
    stream.put(LAST)
    assert (await reading).text == "one three"
    with pytest.raises(StopAsyncIteration):
        await anext(stream)


async def test_cancelled_reader_loses_no_output(stream: RequestStream) -> None:
    reading = asyncio.create_task(anext(stream))
    await asyncio.sleep(0)
    reading.cancel()
    with suppress(asyncio.CancelledError):
        await reading
    stream.put(FIRST)
    assert await anext(stream) == FIRST


@pytest.mark.parametrize("before", [0, 2])
def test_ended_stream_lets_go_of_its_listener(stream: RequestStream, before: int) -> None:
    outputs = (FIRST, LAST)
    for output in outputs[:before]:
        stream.put(output)

    def on_output(output: RequestOutput) -> bool:
        # As for a client that has left, whose answer has no reader any more.
        return False

    listener = weakref.ref(on_output)
    stream.set_listener(on_output)
    for output in outputs[before:]:
        stream.put(output)
    del on_output
    assert listener() is None


@pytest.mark.parametrize("before", [0, 1, 2])
def test_listener_is_called_within_put(stream: RequestStream, before: int) -> None:
    told = list[str]()
    outputs = (FIRST, SECOND, LAST)
    for output in outputs[:before]:
        stream.put(output)

    def on_output(output: RequestOutput) -> bool:
        told.append(output.text)
        return True

    stream.set_listener(on_output)
    for output in outputs[before:]:
        stream.put(output)
    assert "".join(told) == "one two three"
    assert len(told) == 3 - max(0, before - 1)


async def test_output_refused_by_listener_goes_to_reader_first(
    stream: RequestStream,
) -> None:
    offered, takes = list[str](), True

    def on_output(output: RequestOutput) -> bool:
        offered.append(output.text)
        return takes

    stream.set_listener(on_output)
    stream.put(FIRST)
    takes = False
    stream.put(SECOND)
    takes = True
    stream.put(LAST)
    assert offered == [FIRST.text, SECOND.text]
    assert (await anext(stream)).text == SECOND.text + LAST.text


class Panic(BaseException):
    """A panic in native code, which is a BaseException but no Exception."""


@pytest.mark.parametrize("defect", [RuntimeError, UnicodeEncodeError("utf-8", "\ud83d", 0, 1, "a surrogate"), Panic])
async def test_listener_that_raises_ends_its_stream_with_error(
    defect: BaseException | type[BaseException], caplog: pytest.LogCaptureFixture
) -> None:
    aborted = list[str]()
    stream = RequestStream("r", SamplingParams(), aborted.append)

    def on_output(output: RequestOutput) -> bool:
        raise defect

    stream.put(FIRST)
    stream.set_listener(on_output)
    stream.put(SECOND)
    stream.put(LAST)
    outputs = [output async for output in stream]
    assert [(output.finish_reason, output.text) for output in outputs] == [("error", "")]
    assert outputs[0].error is not None
    assert aborted == ["r"]
    assert len([record for record in caplog.records if record.exc_info]) == 1


async def test_waiting_reader_is_woken_by_failed_listener(stream: RequestStream) -> None:
    calls = list[str]()

    def on_output(output: RequestOutput) -> bool:
        calls.append(output.text)
        if len(calls) > 1:
            raise RuntimeError
        return True

    stream.set_listener(on_output)
    reading = asyncio.create_task(anext(stream))
    await asyncio.sleep(0)
    stream.put(FIRST)
    stream.put(SECOND)
    assert (await reading).finish_reason == "error"
    assert calls == [FIRST.text, SECOND.text]
