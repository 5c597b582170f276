"""The original deltas of a run, for protocols that number their events differently."""

import asyncio

from app.domain.deltas import Delta
from app.domain.records import Message
from app.runs.run_log import RunLog

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


def new_log(*deltas: tuple[str, int]) -> RunLog:
    log = RunLog("run_1", ANSWER)
    for text, num_tokens in deltas:
        log.append(text, num_tokens)
    return log


async def all_news(log: RunLog, after: int) -> list[Delta]:
    async with asyncio.timeout(20):
        return [delta async for deltas in log.news(after) for delta in deltas]


async def test_delta_number_is_token_count_plus_one() -> None:
    log = new_log(("a", 1), ("bc", 4), ("d", 5))
    log.close(ANSWER, 5)
    assert await all_news(log, 0) == [Delta(2, "a"), Delta(5, "bc"), Delta(6, "d")]


async def test_news_are_the_deltas_after_a_number() -> None:
    log = new_log(("a", 1), ("bc", 4), ("d", 5))
    log.close(ANSWER, 5)
    for after, texts in ((1, "abcd"), (2, "bcd"), (5, "d"), (6, ""), (99, "")):
        assert "".join(delta.text for delta in await all_news(log, after)) == texts


async def test_earlier_deltas_come_at_once_and_later_ones_are_awaited() -> None:
    log = new_log(("a", 1), ("b", 2))
    news = log.news(1)
    assert await anext(news) == [Delta(2, "a"), Delta(3, "b")]
    waiting = asyncio.ensure_future(anext(news))
    await asyncio.sleep(0)
    log.append("c", 3)
    async with asyncio.timeout(20):
        assert await waiting == [Delta(4, "c")]


async def test_news_end_when_run_is_interrupted() -> None:
    log = new_log(("a", 1))
    log.interrupt()
    assert await all_news(log, 0) == [Delta(2, "a")]
    assert not log.is_closed
