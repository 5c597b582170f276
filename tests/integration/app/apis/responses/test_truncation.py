"""`truncation: auto` of the Responses API, with OpenAI's own client."""

import asyncio
from itertools import pairwise
from pathlib import Path
from typing import Any

import openai
import pytest
from openai import AsyncOpenAI
from openai.types.responses import Response

from engine.testing.replay_engine import WINDOW
from engine.wiring.build import build_engine
from tests.integration.api_server import running_server
from tests.integration.compatibility import row
from tests.integration.engine_rig import engine_config
from tests.integration.real_server import settled
from tests.integration.responses_rig import Api, prompt
from tests.sizes import MANY_PROCESSES

SENTENCE = "Rivers carry water from the hills to the sea, and the sea gives it back as rain."
CALM: dict[str, Any] = {"model": "smollm2", "temperature": 0, "max_output_tokens": 8, "truncation": "auto"}


@row("openai", "responses.create(truncation='auto')", "a prompt that is too long lacks the first messages; the next "
     "turns lack the same ones, so all before them is cached, also with `store=False`")  # fmt: skip
@pytest.mark.parametrize("is_stored", [True, pytest.param(False, marks=MANY_PROCESSES)])
async def test_later_turns_drop_the_same_messages(shallow_model: Path, tmp_path: Path, is_stored: bool) -> None:
    config = engine_config(shallow_model, tmp_path / "state", blocks=60, redis_url="off").with_fields(max_model_len=384)
    engine = await asyncio.to_thread(build_engine, config, lambda _: None)
    async with (
        running_server(tmp_path, engine) as server,
        AsyncOpenAI(base_url=f"{server.url}/v1", api_key="none", max_retries=0) as client,
    ):
        turns = list[Response]()
        history: list[Any] = []
        for number in range(18):
            history.append({"role": "user", "content": f"{number}. {SENTENCE}"})
            previous = turns[-1].id if turns and is_stored else None
            asked = history[-1:] if is_stored else history
            fields: dict[str, Any] = {"input": asked, "previous_response_id": previous, "instructions": "Be brief."}
            turns.append(await client.responses.create(**fields, store=is_stored, **CALM))
            history += turns[-1].output
            await settled(engine)
        assert {turn.truncation for turn in turns} == {"auto"}
        lengths = [turn.usage.input_tokens for turn in turns if turn.usage is not None]
        assert max(lengths) <= 384 - 8
        # Where no more messages were dropped than in the turn before, all of that turn is found.
        cuts = [at for at in range(1, len(turns)) if lengths[at] < lengths[at - 1] + 10]
        assert 2 <= len(cuts) < (len(turns) - cuts[0]) / 2
        for at in set(range(1, len(turns))) - set(cuts):
            usage, before = turns[at].usage, turns[at - 1].usage
            assert usage is not None
            assert before is not None
            # KV is never computed for the last token of an answer.
            assert usage.input_tokens_details.cached_tokens >= before.total_tokens - 1


async def test_dropped_messages_are_kept_in_storage(client: AsyncOpenAI, api: Api) -> None:
    history: list[Any] = [
        {"role": "developer", "content": "Rhyme."},
        {"role": "user", "content": "a" * WINDOW},
        {"role": "assistant", "content": "yes"},
        {"role": "user", "content": "and?"},
    ]
    made = await client.responses.create(model="fake-1", input=history, instructions="Shout.", truncation="auto")
    assert prompt(api, 0) == "<system\nShout.><system\nRhyme.><user\nand?><assistant\n"
    assert made.truncation == "auto"
    assert (await client.responses.retrieve(made.id)).truncation == "auto"
    items = [item async for item in client.responses.input_items.list(made.id, order="asc")]
    assert [item.to_dict()["role"] for item in items] == ["system", "user", "assistant", "user"]
    again: dict[str, Any] = {"model": "fake-1", "input": "more", "instructions": "Shout."}
    for truncation in ("disabled", None):
        with pytest.raises(openai.BadRequestError) as refused:
            await client.responses.create(**again, previous_response_id=made.id, truncation=truncation)
        assert refused.value.code == "context_length_exceeded"
    second = await client.responses.create(**again, previous_response_id=made.id, truncation="auto")
    await client.responses.create(**again, previous_response_id=second.id, truncation="auto")
    for earlier, later in pairwise(api.engine.requests):
        so_far = (*earlier.prompt, *earlier.produced)
        assert later.prompt[: len(so_far)] == so_far


async def test_counted_tokens_are_those_of_shortened_prompt(client: AsyncOpenAI) -> None:
    history: list[Any] = [{"role": "user", "content": "a" * WINDOW}, {"role": "user", "content": "and?"}]
    counted = await client.responses.input_tokens.count(model="fake-1", input=history, truncation="auto")
    made = await client.responses.create(model="fake-1", input=history, truncation="auto")
    assert made.usage is not None
    assert counted.input_tokens == made.usage.input_tokens < WINDOW


async def test_last_question_that_is_too_long_is_refused(client: AsyncOpenAI) -> None:
    history: list[Any] = [{"role": "user", "content": "hi"}, {"role": "user", "content": "a" * WINDOW}]
    with pytest.raises(openai.BadRequestError) as refused:
        await client.responses.create(model="fake-1", input=history, truncation="auto")
    assert (refused.value.code, refused.value.param) == ("context_length_exceeded", "input")
