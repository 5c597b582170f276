"""Calls of a gateway that fail or are given up at the replica."""

import asyncio
from dataclasses import replace

import pytest

from engine.errors import EngineError
from engine.fleet.answer import RemoteAnswer
from engine.fleet.messages import Erase
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
        await asyncio.wait_for(link.call(lambda call: Erase(call, [], "local")), 5)
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
