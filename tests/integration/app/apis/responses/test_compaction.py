"""Compaction of conversations with the `openai` package."""

import asyncio
import itertools
import json
from pathlib import Path
from typing import Any

import openai
import pytest
from openai import AsyncOpenAI
from openai.types.responses import CompactedResponse, Response

from engine.testing.byte_tokenizer import text_of
from engine.testing.replay_engine import WINDOW
from engine.wiring.build import build_engine
from tests.integration.api_server import running_server
from tests.integration.compatibility import row
from tests.integration.engine_rig import engine_config
from tests.integration.real_server import settled
from tests.integration.responses_rig import WHOLE_ANSWER, Api, prompt
from tests.sizes import Size

HISTORY: list[Any] = [
    {"role": "developer", "content": "Rhyme."},
    {"role": "user", "content": "one"},
    {"role": "assistant", "content": "first"},
    {"type": "function_call", "call_id": "call_1", "name": "now", "arguments": "{}"},
    {"type": "function_call_output", "call_id": "call_1", "output": "noon"},
    {"role": "user", "content": "two"},
    {"role": "assistant", "content": "second"},
]


def window_of(compacted: CompactedResponse) -> list[dict[str, Any]]:
    """Return the items to send. The package has no type for the user's messages among them, as it warns."""
    items: list[dict[str, Any]] = json.loads(compacted.to_json(warnings=False))["output"]
    return items


@row("openai", "responses.compact(...)", "the user's messages, and one item `compaction` with a sealed summary of the "
     "rest, which can be sent as the next `input`")  # fmt: skip
async def test_compacted_window_is_the_next_input(client: AsyncOpenAI, api: Api) -> None:
    compacted = await client.responses.compact(model="fake-1", input=HISTORY, instructions="Be brief.")
    assert compacted.object == "response.compaction"
    asked = prompt(api, 0)
    assert all(text in asked for text in ("Be brief.", "Rhyme.", "one", "first", "noon", "second"))
    assert compacted.usage.input_tokens == len(api.engine.requests[0].prompt)
    *kept, summary = window = window_of(compacted)
    said = [(item["role"], item["content"][0]["text"]) for item in kept]
    assert said == [("system", "Rhyme."), ("user", "one"), ("user", "two")]
    assert summary["type"] == "compaction"
    assert WHOLE_ANSWER not in summary["encrypted_content"]
    await api.services.model.next_prefixes.join()
    again: Any = [*window, {"role": "user", "content": "three"}]
    counted = await client.responses.input_tokens.count(model="fake-1", input=again, instructions="Be brief.")
    made = await client.responses.create(model="fake-1", input=again, instructions="Be brief.")
    head = "Summary of the conversation so far:\n"
    prefix = f"<system\nBe brief.><system\nRhyme.><user\none><user\ntwo><assistant\n{head}{WHOLE_ANSWER}><"
    assert prompt(api, 1) == prefix
    assert prompt(api, 2) == f"{prefix}user\nthree><assistant\n"
    assert made.usage is not None
    assert counted.input_tokens == made.usage.input_tokens
    twice = await client.responses.compact(model="fake-1", previous_response_id=made.id)
    assert [item.type for item in twice.output] == ["message"] * 4 + ["compaction"]
    assert prompt(api, 3).startswith(prefix)


async def test_conversation_beyond_the_window_is_compacted(client: AsyncOpenAI, api: Api) -> None:
    history: list[Any] = [{"role": "user", "content": "a" * WINDOW}, *HISTORY[1:]]
    compacted = await client.responses.compact(model="fake-1", input=history)
    assert "a" * 9 not in prompt(api, 0)
    assert window_of(compacted)[0]["content"][0]["text"] == "a" * WINDOW


@pytest.mark.parametrize("sealed", ["x", "eA==", "not base64!", "\u00e9"])
async def test_compaction_of_another_server_is_a_note(client: AsyncOpenAI, api: Api, sealed: str) -> None:
    item: Any = {"type": "compaction", "encrypted_content": sealed}
    made = await client.responses.with_raw_response.create(
        model="fake-1", input=[item, {"role": "user", "content": "hi"}]
    )
    assert made.headers["X-Ebb-Ignored"] == "input.compaction"
    assert "[compaction omitted: only the server that made it can read it]" in prompt(api, 0)


async def test_compaction_needs_a_conversation(client: AsyncOpenAI) -> None:
    with pytest.raises(openai.BadRequestError) as refused:
        await client.responses.compact(model="fake-1")
    assert refused.value.param == "input"
    with pytest.raises(openai.BadRequestError) as refused:
        await client.responses.compact(model="fake-1", previous_response_id="resp_none")
    assert refused.value.param == "previous_response_id"
    with pytest.raises(openai.NotFoundError):
        await client.responses.compact(model="other", input="hi")


async def test_summary_reuses_the_conversation(shallow_model: Path, tmp_path: Path) -> None:
    config = engine_config(shallow_model, tmp_path / "state", blocks=12, redis_url="off")
    engine = await asyncio.to_thread(build_engine, config, lambda _: None)
    async with (
        running_server(tmp_path, engine) as server,
        AsyncOpenAI(base_url=f"{server.url}/v1", api_key="none", max_retries=0) as client,
    ):
        text = "Tell me what a geographer would say about rivers, lakes and the sea. " * 6
        first = await client.responses.create(model="smollm2", input=text, temperature=0, max_output_tokens=24)
        await settled(engine)
        compacted = await client.responses.compact(model="smollm2", previous_response_id=first.id)
    assert first.usage is not None
    # KV is never computed for the last token of an answer.
    assert compacted.usage.input_tokens_details.cached_tokens == first.usage.total_tokens - 1
    assert compacted.usage.output_tokens > 0


TOOLS: list[Any] = [
    {"type": "function", "name": name, "description": f"Tell the {name}.", "parameters": {"type": "object"}}
    for name in ("weather", "time", "news")
]
BRIEF = "Answer as a geographer would, in short sentences, and name your sources. " * 4
ASKED: dict[str, Any] = {"model": "smollm2", "instructions": BRIEF, "tools": TOOLS, "temperature": 0}


async def conversation(client: AsyncOpenAI, first: str, *, store: bool) -> tuple[dict[str, Any], Response]:
    """Make a conversation of two answers, and return the fields that continue it, with the last answer."""
    said: list[Any] = [{"role": "user", "content": first}]
    made = await client.responses.create(**ASKED, input=said, max_output_tokens=6, store=store)
    said += [json.loads(item.to_json(exclude_none=True)) for item in made.output]
    said.append({"role": "user", "content": "And the sea? " * 8})
    fields: dict[str, Any] = {"input": said}
    if store:
        fields = {"input": said[-1:], "previous_response_id": made.id}
    made = await client.responses.create(**ASKED, **fields, max_output_tokens=6, store=store)
    said += [json.loads(item.to_json(exclude_none=True)) for item in made.output]
    return ({"previous_response_id": made.id} if store else {"input": said}), made


async def test_compaction_rides_the_live_prefix(shallow_model: Path, tmp_path: Path, size: Size) -> None:
    # The summary takes at most an eighth of the window.
    config = engine_config(shallow_model, tmp_path / "state", blocks=12, redis_url="off")
    engine = await asyncio.to_thread(build_engine, config, lambda _: None)
    heads: list[dict[str, Any]] = [
        {},
        {"instructions": BRIEF},
        {"instructions": BRIEF, "extra_body": {"tools": TOOLS}},
    ]
    cases = size.pick(small=[(True, heads[0]), (False, heads[1])], full=list(itertools.product((True, False), heads)))
    async with (
        running_server(tmp_path, engine) as server,
        AsyncOpenAI(base_url=f"{server.url}/v1", api_key="none", max_retries=0) as client,
    ):
        for number, (store, head) in enumerate(cases):
            fields, last = await conversation(client, f"{number} rivers, which? " * 8, store=store)
            compacted = await client.responses.compact(model="smollm2", **head, **fields)
            assert last.usage is not None
            # KV is never computed for the last token of an answer.
            assert compacted.usage.input_tokens_details.cached_tokens == last.usage.total_tokens - 1
            await server.services.model.next_prefixes.join()
            window: Any = [*window_of(compacted), {"role": "user", "content": "Go on."}]
            following = await client.responses.create(**ASKED, input=window, max_output_tokens=1)
            assert following.usage is not None
            left = following.usage.input_tokens - following.usage.input_tokens_details.cached_tokens
            # The server keeps no text, so it cannot prefill a head that the client did not send.
            assert left <= 16 if store or len(head) == 2 else left > 100


async def test_other_instructions_find_no_conversation_without_them(client: AsyncOpenAI, api: Api) -> None:
    made = await client.responses.create(model="fake-1", input="one", instructions="Rhyme.", store=False)
    said: Any = [{"role": "user", "content": "one"}, {"role": "assistant", "content": made.output_text}]
    cases: list[tuple[Any, str]] = [({"instructions": "Be brief."}, "Be brief."), ({}, "Rhyme.")]
    for given, head in cases:
        await client.responses.compact(model="fake-1", input=said, **given)
        await api.services.model.next_prefixes.join()
        asking = next(each for each in reversed(api.engine.requests) if each.params.max_tokens)
        assert text_of(asking.prompt).startswith(f"<system\n{head}><user\none><assistant\n{WHOLE_ANSWER}><user\nSummar")
