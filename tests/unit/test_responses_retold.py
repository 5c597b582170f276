"""The log of a stored answer is that of its run, token by token."""

from app.deltas import Delta
from app.records import Message
from app.responses.retold import Retold
from app.token_history import MessageTokens, pack_ids
from tests.unit.fake_engine import END, WORDS, FakeEngine


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


async def deltas_of(message: Message) -> list[Delta]:
    log = Retold.of(message, FakeEngine()).log
    assert log.is_closed
    return [delta async for deltas in log.news(0) for delta in deltas]


async def test_each_token_that_completes_text_is_a_delta() -> None:
    ids = [WORDS, *"é".encode(), WORDS + 1, END]
    assert await deltas_of(answer(" w0é w1", ids)) == [Delta(2, " w0"), Delta(4, "é"), Delta(5, " w1")]


async def test_an_answer_without_text_has_none() -> None:
    assert await deltas_of(answer("", [])) == []


async def test_an_answer_of_another_tokenizer_comes_in_one_piece() -> None:
    assert await deltas_of(answer("hello", [WORDS, WORDS + 1])) == [Delta(3, "hello")]
