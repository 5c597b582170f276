"""Log probabilities of responses, as OpenAI's client reads them."""

from typing import Any

import pytest
from openai import AsyncOpenAI

from engine.api.outputs import RequestOutput
from engine.testing.byte_tokenizer import END, WORDS
from engine.testing.replay_engine import replayed_logprobs
from tests.integration.compatibility import row
from tests.integration.responses_rig import WHOLE_ANSWER, Api, all_of, text_in

ASKED: Any = {"model": "fake-1", "input": "hi", "include": ["message.output_text.logprobs"]}


def told(logprobs: Any) -> list[tuple[str, float, list[str]]]:
    return [(each.token, each.logprob, [top.token for top in each.top_logprobs]) for each in logprobs]


def expected(count: int) -> list[tuple[str, float, list[str]]]:
    return [(f" w{at}", -0.5, [f" w{at}", f" w{at + 1}"]) for at in range(count)]


@row(
    "openai",
    "responses.create(include=[...logprobs], top_logprobs=2)",
    "of each token: its text, bytes and logprob; also streamed",
)
async def test_response_has_logprobs_of_its_text(client: AsyncOpenAI) -> None:
    response: Any = await client.responses.create(**ASKED, top_logprobs=2)
    [part] = response.output[0].content
    assert told(part.logprobs) == expected(WHOLE_ANSWER.count(" "))
    assert [bytes(each.bytes).decode() for each in part.logprobs] == [each.token for each in part.logprobs]
    assert (response.output_text, response.top_logprobs) == (WHOLE_ANSWER, 2)
    again = await client.responses.retrieve(response.id, include=ASKED["include"])
    assert again.output_text == WHOLE_ANSWER


@pytest.mark.parametrize(("fields", "num_top"), [(ASKED, 0), ({"model": "fake-1", "input": "x", "top_logprobs": 1}, 1)])
async def test_either_field_asks_for_logprobs(client: AsyncOpenAI, fields: Any, num_top: int) -> None:
    response: Any = await client.responses.create(**fields)
    [part] = response.output[0].content
    assert {len(each.top_logprobs) for each in part.logprobs} == {num_top}


async def test_every_event_of_a_text_has_its_logprobs(client: AsyncOpenAI) -> None:
    events: Any = await all_of(await client.responses.create(**ASKED, top_logprobs=2, stream=True))
    deltas = [event for event in events if event.type == "response.output_text.delta"]
    count = WHOLE_ANSWER.count(" ")
    assert [each for event in deltas for each in told(event.logprobs)] == expected(count)
    assert all("".join(each.token for each in event.logprobs) == event.delta for event in deltas)
    *_, done, part, item, last = events
    assert told(done.logprobs) == expected(count)
    assert told(part.part.logprobs) == expected(count)
    assert item.item == last.response.output[0]
    assert told(item.item.content[0].logprobs) == expected(count)
    replayed: Any = await client.responses.retrieve(last.response.id, stream=True, include=ASKED["include"])
    assert text_in(await all_of(replayed)) == WHOLE_ANSWER


async def test_thoughts_and_end_of_answer_have_no_logprobs(client: AsyncOpenAI, api: Api) -> None:
    api.engine.hold()
    stream = await client.responses.create(**ASKED, stream=True)
    [request] = api.engine.requests

    def output(text: str, *ids: int, **fields: Any) -> RequestOutput:
        return RequestOutput(
            request_id=request.request_id,
            text=text,
            token_ids=ids,
            logprobs=tuple(replayed_logprobs(id_, 0) for id_ in ids),
            **fields,
        )

    request.put(output("", WORDS + 7, reasoning=" w7"))
    request.put(output(" w1", END, WORDS + 1))
    request.put(output(" w2 w3", WORDS + 2, WORDS + 3))
    api.engine.allow(None)
    events: Any = await all_of(stream)
    deltas = [event for event in events if event.type == "response.output_text.delta"]
    assert [each.token for event in deltas for each in event.logprobs][:3] == [" w1", " w2", " w3"]
    assert "".join(each.token for event in deltas for each in event.logprobs) == text_in(events)


async def test_background_response_without_connection_has_none(client: AsyncOpenAI, api: Api) -> None:
    await client.responses.create(**ASKED, background=True)
    assert api.engine.requests[0].params.logprobs is None
