"""Calls of a gateway that fail or are given up at the replica."""

import asyncio
from collections import Counter
from dataclasses import replace

import pytest

from engine.api.errors import EngineError
from engine.api.outputs import PromptProgress, RequestOutput
from engine.fleet.gateway.answer import RemoteAnswer
from engine.fleet.wire.messages import Abort, Erase
from tests.unit.engine.fleet.memory_fleet import ASKED, asked, joined, settled


class Panic(BaseException):
    """A panic in native code, which is a BaseException but no Exception."""


@pytest.mark.parametrize("defect", [RuntimeError("made by the test"), Panic("made by the test")], ids=repr)
async def test_defect_at_admission_refuses_the_request(defect: BaseException, caplog: pytest.LogCaptureFixture) -> None:
    link, replica, _ = await joined()
    replica.scripted.failure = defect
    with pytest.raises(EngineError, match=r"failed unexpectedly; see the server's log"):
        await asyncio.wait_for(link.begin(ASKED, [asked()]), 5)
    assert "made by the test" in caplog.text
    # The replica admits other requests.
    replica.scripted.failure = None
    await asyncio.wait_for(link.begin(ASKED, [asked()]), 5)


async def test_request_that_is_refused_after_admission_is_aborted() -> None:
    link, replica, _ = await joined()
    replica.scripted.text_before = object()
    with pytest.raises(EngineError, match=r"failed unexpectedly; see the server's log"):
        await asyncio.wait_for(link.begin(ASKED, [asked()]), 5)
    await settled()
    assert replica.scripted.aborted == ["r0"]


async def test_defect_in_an_erasure_refuses_it(caplog: pytest.LogCaptureFixture) -> None:
    link, replica, _ = await joined()
    replica.scripted.failure = RuntimeError("made by the test")
    with pytest.raises(EngineError, match=r"failed unexpectedly; see the server's log"):
        await asyncio.wait_for(link.call(lambda call: Erase(call, [], again=False)), 5)
    assert "made by the test" in caplog.text


async def test_answer_is_handed_over_despite_a_defect() -> None:
    link, replica, _ = await joined()
    moved: list[RemoteAnswer] = []
    answer = asked(moved)
    await link.begin(replace(ASKED, hands_over=True), [answer])
    replica.scripted.failure = RuntimeError("made by the test")
    replica.scripted.produce(7, end="moved")
    await settled()
    assert moved == [answer]


async def test_abort_during_admission_ends_the_request() -> None:
    link, replica, _ = await joined()
    replica.scripted.admits.clear()
    beginning = asyncio.create_task(link.begin(ASKED, [asked()]))
    await settled()
    beginning.cancel()
    await settled()
    replica.scripted.admits.set()
    await settled()
    assert replica.scripted.streams == []
    assert replica.session.num_streams == 0


async def test_abort_right_after_admission_ends_the_answer() -> None:
    link, replica, _ = await joined()
    replica.scripted.admits.clear()
    beginning = asyncio.create_task(link.begin(ASKED, [asked()]))
    await settled()
    # The frame arrives in the turn of the loop in which the request was admitted.
    replica.scripted.admits.set()
    link.send(Abort(0))
    await beginning
    assert replica.scripted.aborted == ["r0"]


async def test_progress_of_a_prompt_reaches_the_gateway() -> None:
    link, replica, _ = await joined()
    request = replace(ASKED, progress_every=0.25)
    answer = RemoteAnswer(request_id="a", request=request, choice=0, abort=lambda _: None, on_end=lambda _: None)
    await link.begin(request, [answer])
    assert replica.scripted.requests[0].progress_every == 0.25
    reports = [PromptProgress(3, done, Counter({"redis": done}), "computing", 1.5, 2.5) for done in (1, 2)]
    for report in reports:
        replica.scripted.streams[0].put(RequestOutput(request_id="r0", text="", token_ids=(), progress=(report,)))
    await settled()
    replica.scripted.produce(7)
    await settled()
    first = await anext(answer.stream)
    assert (list(first.progress), first.token_ids) == (reports, (7,))
