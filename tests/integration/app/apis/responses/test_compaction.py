"""Compaction of conversations with the `openai` package."""

import asyncio
import json
from pathlib import Path
from typing import Any

import openai
import pytest
from openai import AsyncOpenAI
from openai.types.responses import CompactedResponse

from engine.build import build_engine
from tests.integration.api_server import running_server
from tests.integration.compatibility import row
from tests.integration.engine_rig import engine_config
from tests.integration.real_server import settled
from tests.integration.responses_rig import WHOLE_ANSWER, Api, prompt
from tests.unit.fake_engine import WINDOW

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
    again: Any = [*window, {"role": "user", "content": "three"}]
    counted = await client.responses.input_tokens.count(model="fake-1", input=again)
    made = await client.responses.create(model="fake-1", input=again)
    head = "Summary of the conversation so far:\n"
    assert prompt(api, 1) == (
        f"<system\nRhyme.><user\none><user\ntwo><assistant\n{head}{WHOLE_ANSWER}><user\nthree><assistant\n"
    )
    assert made.usage is not None
    assert counted.input_tokens == made.usage.input_tokens
    twice = await client.responses.compact(model="fake-1", previous_response_id=made.id)
    assert [item.type for item in twice.output] == ["message"] * 4 + ["compaction"]
    assert head in prompt(api, 2)


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
