"""Replay of a stored answer: the same deltas as its run, token by token."""

import asyncio
from dataclasses import replace

from app.apis.responses.replay import Replay
from app.domain.deltas import Delta
from app.domain.records import Message
from app.domain.token_history import MessageTokens, pack_ids
from app.runs.run_log import MAX_NEWS
from engine.testing.byte_tokenizer import END, START, WORDS
from engine.testing.replay_engine import ReplayEngine
from models.thinking import MarkedThinking


def answer(content: str, ids: list[int]) -> Message:
    return Message(
        id="msg_1",
        conversation_id="conv_1",
        parent_id=None,
        role="assistant",
        content=content,
        status="complete",
        created_at=1.0,
        run_id="run_1",
        tokens=MessageTokens(pack_ids(ids), "key"),
    )


async def deltas_of(message: Message, thinking: MarkedThinking | None = None) -> list[Delta]:
    engine = ReplayEngine()
    engine.chat_format.thinking = thinking
    log = Replay.of(message, engine).log
    assert log.is_closed
    return [delta async for deltas in log.news(0) for delta in deltas]


async def test_each_token_that_completes_text_yields_a_delta() -> None:
    ids = [WORDS, *"é".encode(), WORDS + 1, END]
    assert await deltas_of(answer(" w0é w1", ids)) == [Delta(2, " w0"), Delta(4, "é"), Delta(5, " w1")]


async def test_answer_without_text_has_no_deltas() -> None:
    assert await deltas_of(answer("", [])) == []


async def test_answer_of_another_tokenizer_is_a_single_delta() -> None:
    assert await deltas_of(answer("hello", [WORDS, WORDS + 1])) == [Delta(3, "hello")]


async def test_thoughts_are_separate_deltas_and_marks_count() -> None:
    thinking = MarkedThinking(START, END, {"slow": ""})
    thought = replace(answer(" w1", [START, WORDS, END, WORDS + 1]), reasoning=" w0")
    assert await deltas_of(thought, thinking) == [Delta(3, " w0", is_thought=True), Delta(5, " w1")]
    begun_by_the_prompt = replace(answer(" w1", [WORDS, END, WORDS + 1]), reasoning=" w0")
    assert await deltas_of(begun_by_the_prompt, thinking) == [Delta(2, " w0", is_thought=True), Delta(4, " w1")]


async def test_thought_of_another_tokenizer_is_a_single_delta() -> None:
    thought = replace(answer("hello", [WORDS, WORDS + 1, WORDS + 2]), reasoning="hm")
    assert await deltas_of(thought) == [Delta(3, "hm", is_thought=True), Delta(4, "hello")]


async def test_long_answer_is_replayed_in_bounded_pieces() -> None:
    count = 3 * MAX_NEWS + 5
    words = [WORDS + number % 10 for number in range(count)]
    log = Replay.of(answer("".join(f" w{number % 10}" for number in range(count)), words), ReplayEngine()).log
    turns, pieces = 0, list[int]()

    async def take_turns() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    other = asyncio.create_task(take_turns())
    async for deltas in log.news(0):
        pieces.append(len(deltas))
    other.cancel()
    assert pieces == [MAX_NEWS] * 3 + [5]
    assert turns >= 3
