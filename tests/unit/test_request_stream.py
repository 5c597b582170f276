"""News of one request: what a reader that is late, and a listener, are told."""

import asyncio
from collections.abc import Sequence
from contextlib import suppress

import pytest

from cache_tiers.block_key import BlockKey
from engine import async_llm
from engine.async_llm import MOST_MERGED, MOST_MERGED_LOGPROBS, RequestStream
from engine.outputs import RequestOutput, TokenLogprobs, joined
from engine.request import Request
from engine.sampling_params import SamplingParams

FIRST = RequestOutput("r", "one ", (1,))
SECOND = RequestOutput("r", "two ", (2,), reasoning="hm")
LAST = RequestOutput("r", "three", (3,), "stop")


@pytest.fixture
def stream() -> RequestStream:
    return RequestStream(Request("r", "t", (7,), SamplingParams(), BlockKey(b"0" * 32), [], 0.0), lambda _: None)


async def test_what_nobody_has_read_yet_merges(stream: RequestStream) -> None:
    stream.put(FIRST)
    stream.put(SECOND)
    assert await anext(stream) == RequestOutput("r", "one two ", (1, 2), reasoning="hm")
    stream.put(LAST)
    assert [output async for output in stream] == [LAST]


async def test_unread_stream_costs_only_what_is_new(stream: RequestStream, monkeypatch: pytest.MonkeyPatch) -> None:
    merged = list[int]()

    def count(outputs: Sequence[RequestOutput]) -> RequestOutput:
        merged.append(len(outputs))
        return joined(outputs)

    monkeypatch.setattr(async_llm, "joined", count)
    for number in range(1000):
        stream.put(RequestOutput("r", f"{number} ", (number,)))
    assert merged == []
    stream.put(LAST)
    outputs = [output async for output in stream]
    assert sum(merged) <= 1001
    assert max(len(output.token_ids) for output in outputs) == MOST_MERGED
    assert [id_ for output in outputs for id_ in output.token_ids] == [*range(1000), 3]


async def test_unread_log_probabilities_come_in_small_pieces(stream: RequestStream) -> None:
    logprobs = (TokenLogprobs(1, -0.5, ((1, -0.5),)),)
    for number in range(20):
        stream.put(RequestOutput("r", "", (number,), logprobs=logprobs))
    stream.put(LAST)
    assert [len(output.token_ids) async for output in stream] == [MOST_MERGED_LOGPROBS] * 2 + [5]


async def test_listener_is_offered_unread_output_in_pieces(stream: RequestStream) -> None:
    for number in range(200):
        stream.put(RequestOutput("r", "", (number,)))
    heard = list[int]()

    def hear(output: RequestOutput) -> bool:
        if len(heard) >= 100:
            return False
        heard.extend(output.token_ids)
        return True

    stream.listen(hear)
    stream.put(LAST)
    outputs = [output async for output in stream]
    assert [*heard, *(id_ for output in outputs for id_ in output.token_ids)] == [*range(200), 3]


async def test_a_reader_that_waits_is_woken_once_for_all_that_came(stream: RequestStream) -> None:
    reading = asyncio.create_task(anext(stream))
    await asyncio.sleep(0)
    stream.put(FIRST)
    stream.put(LAST)
    assert (await reading).text == "one three"
    with pytest.raises(StopAsyncIteration):
        await anext(stream)


async def test_a_reader_that_gave_up_loses_nothing_for_the_next(stream: RequestStream) -> None:
    reading = asyncio.create_task(anext(stream))
    await asyncio.sleep(0)
    reading.cancel()
    with suppress(asyncio.CancelledError):
        await reading
    stream.put(FIRST)
    assert await anext(stream) == FIRST


@pytest.mark.parametrize("before", [0, 1, 2])
def test_a_listener_is_told_in_the_call_that_brings_it(stream: RequestStream, before: int) -> None:
    told = list[str]()
    outputs = (FIRST, SECOND, LAST)
    for output in outputs[:before]:
        stream.put(output)

    def hear(output: RequestOutput) -> bool:
        told.append(output.text)
        return True

    stream.listen(hear)
    for output in outputs[before:]:
        stream.put(output)
    assert "".join(told) == "one two three"
    assert len(told) == 3 - max(0, before - 1)


async def test_what_a_listener_does_not_take_is_the_readers_and_nothing_is_offered_before_it_is_read(
    stream: RequestStream,
) -> None:
    offered, takes = list[str](), True

    def hear(output: RequestOutput) -> bool:
        offered.append(output.text)
        return takes

    stream.listen(hear)
    stream.put(FIRST)
    takes = False
    stream.put(SECOND)
    takes = True
    stream.put(LAST)
    assert offered == [FIRST.text, SECOND.text]
    assert (await anext(stream)).text == SECOND.text + LAST.text


class Panic(BaseException):
    """A panic in native code, which is no Exception."""


@pytest.mark.parametrize("defect", [RuntimeError, UnicodeEncodeError("utf-8", "\ud83d", 0, 1, "a surrogate"), Panic])
async def test_listener_that_raises_ends_its_stream_with_error(
    defect: BaseException | type[BaseException], caplog: pytest.LogCaptureFixture
) -> None:
    aborted = list[str]()
    request = Request("r", "t", (7,), SamplingParams(), BlockKey(b"0" * 32), [], 0.0)
    stream = RequestStream(request, aborted.append)

    def hear(output: RequestOutput) -> bool:
        raise defect

    stream.put(FIRST)
    stream.listen(hear)
    stream.put(SECOND)
    stream.put(LAST)
    outputs = [output async for output in stream]
    assert [(output.finish_reason, output.text) for output in outputs] == [("error", "")]
    assert outputs[0].error is not None
    assert aborted == ["r"]
    assert len([record for record in caplog.records if record.exc_info]) == 1


async def test_reader_that_waits_is_woken_by_failed_listener(stream: RequestStream) -> None:
    calls = list[str]()

    def hear(output: RequestOutput) -> bool:
        calls.append(output.text)
        if len(calls) > 1:
            raise RuntimeError
        return True

    stream.listen(hear)
    reading = asyncio.create_task(anext(stream))
    await asyncio.sleep(0)
    stream.put(FIRST)
    stream.put(SECOND)
    assert (await reading).finish_reason == "error"
    assert calls == [FIRST.text, SECOND.text]
