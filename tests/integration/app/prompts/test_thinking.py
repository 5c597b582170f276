"""Thinking through the whole server, with a tiny openPangu-Embedded model that thinks unless thinking is off."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from openai import AsyncOpenAI, BadRequestError

from app.conversations.next_prompt_prefill import NextPromptPrefill
from app.storage.next_prefixes import NextPrefixStore
from app.tenants.name import LOCAL
from engine.loop.async_llm import AsyncLLMEngine
from engine.wiring.build import build_engine
from models.thinking import ThinkingMode
from tests.harness_bodies import HEADER
from tests.integration.api_server import RunningServer, api_client, running_server
from tests.integration.conversations_client import created, error_of, said, shown
from tests.integration.engine_rig import engine_config
from tests.integration.sse_events import all_events, text_of
from tests.tiny_openpangu import ANSWER, THOUGHT, write_thinking_openpangu
from tests.waiting import until

Api = RunningServer[AsyncLLMEngine]

SYSTEM = "you are a helpful assistant and think about what comes next " * 12
QUESTION: Any = [{"role": "user", "content": "Hi"}]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_thinking_openpangu(tmp_path_factory.mktemp("models") / "pangu")


@pytest.fixture
async def api(folder: Path, tmp_path: Path) -> AsyncIterator[Api]:
    config = engine_config(folder, tmp_path / "state", redis_url="off")
    engine = await asyncio.to_thread(build_engine, config, lambda _: None)
    async with running_server(tmp_path, engine) as server:
        yield server


async def chunks_of(stream: Any) -> tuple[str, str, list[bool]]:
    """Read a stream and return its reasoning, its text, and for each delta whether it was reasoning."""
    thoughts, texts, order = "", "", list[bool]()
    async for chunk in stream:
        delta = chunk.choices[0].delta
        thought = getattr(delta, "reasoning_content", None) or ""
        order += [True] * bool(thought) + [False] * bool(delta.content)
        thoughts, texts = thoughts + thought, texts + (delta.content or "")
    return thoughts, texts, order


async def test_openai_clients_get_reasoning_apart_and_can_disable_it(api: Api) -> None:
    async with AsyncOpenAI(base_url=f"{api.url}/v1", api_key="none", max_retries=0) as client:
        asked: dict[str, Any] = {"model": "smollm2", "messages": QUESTION}
        whole = await client.chat.completions.create(**asked)
        assert (whole.choices[0].message.content, whole.choices[0].finish_reason) == (ANSWER, "stop")
        assert whole.choices[0].message.model_extra == {"reasoning_content": THOUGHT}
        assert whole.usage is not None
        assert whole.usage.completion_tokens_details is not None
        assert whole.usage.completion_tokens > (whole.usage.completion_tokens_details.reasoning_tokens or 0) > 1
        thoughts, text, order = await chunks_of(await client.chat.completions.create(**asked, stream=True))
        assert (thoughts, text, order) == (THOUGHT, ANSWER, sorted(order, reverse=True))
        for off in (
            {"reasoning_effort": "none"},
            {"extra_body": {"thinking": "off"}},
            {"extra_body": {"chat_template_kwargs": {"enable_thinking": False}}, "reasoning_effort": "high"},
        ):
            quick = await client.chat.completions.create(**asked, **off)
            assert quick.choices[0].message.content == ANSWER
            assert quick.choices[0].message.model_extra == {}
        auto = await client.chat.completions.create(**asked, extra_body={"thinking": "auto"})
        assert auto.choices[0].message.model_extra == {"reasoning_content": THOUGHT}
        stopped = await client.chat.completions.create(**asked, stop=["quick", " world"])
        assert stopped.choices[0].message.content == "hello"
        with pytest.raises(BadRequestError, match="thinking"):
            await client.chat.completions.create(**asked, extra_body={"thinking": "fast"})
        response = await client.responses.create(model="smollm2", input="Hi")
        assert response.output_text == ANSWER
        raw = await client.completions.create(model="smollm2", prompt="[unused9]助手：", max_tokens=40)
        assert raw.choices[0].text == THOUGHT + ANSWER


async def test_answer_after_reasoning_keeps_its_form_or_calls_a_tool(api: Api) -> None:
    async with AsyncOpenAI(base_url=f"{api.url}/v1", api_key="none", max_retries=0) as client:
        asked: dict[str, Any] = {"model": "smollm2", "messages": QUESTION, "temperature": 0, "max_tokens": 80}
        efforts: list[tuple[Any, str | None]] = [("high", THOUGHT), ("none", None)]
        for mode, thought in efforts:
            chosen = await client.chat.completions.create(
                **asked, reasoning_effort=mode, extra_body={"guided_choice": ["hello hello", "no"]}
            )
            choice = chosen.choices[0]
            assert (choice.message.content, choice.finish_reason) == ("hello hello", "stop")
            assert (choice.message.model_extra or {}).get("reasoning_content") == thought
        parameters = {"type": "object", "properties": {"city": {"enum": ["北京"]}}, "required": ["city"]}
        function = {"name": "weather", "parameters": {**parameters, "additionalProperties": False}}
        tools: list[Any] = [{"type": "function", "function": function}]
        called = await client.chat.completions.create(
            **asked, tools=tools, tool_choice="required", parallel_tool_calls=False
        )
        message, [call] = called.choices[0].message, called.choices[0].message.tool_calls or []
        assert called.choices[0].finish_reason == "tool_calls"
        assert message.model_extra == {"reasoning_content": THOUGHT}
        assert call.type == "function"
        assert (call.function.name, call.function.arguments) == ("weather", '{"city":"北京"}')
        result = {"role": "tool", "tool_call_id": call.id, "content": "21"}
        sent = [*QUESTION, message.model_dump(exclude_none=True), result]
        again = await client.chat.completions.create(**{**asked, "messages": sent}, tools=tools)
        assert again.choices[0].message.content == ANSWER


@pytest.mark.parametrize("mode", ["slow", "off"])
async def test_conversation_stores_reasoning_outside_the_prompt(api: Api, mode: ThinkingMode) -> None:
    async with api_client(api.url) as http:
        conversation = await created(http, params={"thinking": mode})
        response = await http.post(f"/api/conversations/{conversation}/messages", json={"content": "Hi"})
        events = await all_events(response)
        answer = events[-1].data["message"]
        expected = THOUGHT if mode == "slow" else None
        assert "".join(event.data.get("reasoning", "") for event in events if event.kind == "delta") == (expected or "")
        assert text_of(events) == ANSWER
        assert (answer["content"], answer["reasoning"], answer["status"]) == (ANSWER, expected, "complete")
        assert answer["params"]["thinking"] == mode
        assert answer["params"]["top_p"] == 0.8, "the mode must keep the model's own top_p"
        stored = (await shown(http, conversation))["messages"][-1]
        assert {name: stored[name] for name in answer} == answer
        replayed = await all_events(await http.get(f"/api/runs/{answer['run_id']}/events"))
        assert replayed[0].data["message"]["reasoning"] == expected
        again = await said(http, conversation, "you are", params={"thinking": "slow"})
        assert (again["content"], again["reasoning"]) == (ANSWER, THOUGHT)
        turns = [*QUESTION, {"role": "assistant", "content": ANSWER}, {"role": "user", "content": "you are"}]
        tokens = await (await http.post("/tokenize", json={"messages": turns})).json()
        assert again["usage"]["prompt_tokens"] == tokens["count"]
        text = api.engine.tokenizer.describe(tokens["tokens"])
        assert "[unused16]" not in text
        assert "/no_think" not in text
        retried = await http.post(f"/api/messages/{again['id']}/retry", json={"params": {"thinking": "off"}})
        assert (await all_events(retried))[-1].data["message"]["reasoning"] is None
        refused = await http.post(
            f"/api/conversations/{conversation}/messages", json={"content": "x", "params": {"thinking": "loud"}}
        )
        assert (await error_of(refused, 400))["param"] == "params.thinking"


async def test_precomputed_prefix_is_reused_and_erased_with_chat(api: Api) -> None:
    services = api.services
    async with api_client(api.url) as http:
        conversation = await created(http, system_prompt=SYSTEM)
        first = await said(http, conversation, "Hi")
        await services.model.next_prefixes.join()
        second = await said(http, conversation, "you are")
        await services.model.next_prefixes.join()
        kv, prompt = second["usage"]["kv"], second["usage"]["prompt_tokens"]
        question = prompt - first["usage"]["prompt_tokens"]
        assert second["reasoning"] == THOUGHT
        assert kv["computed"] < question, "the previous answer without its reasoning was not prefilled"
        await asyncio.to_thread(until, lambda: api.engine.is_idle)
        assert api.engine.stats().blocks.cached > 2
        assert (await http.delete(f"/api/conversations/{conversation}?permanently=true")).status == 204
        await asyncio.to_thread(until, lambda: api.engine.stats().blocks.cached == 0)


async def test_prefix_of_next_response_follows_the_prefix_rules(api: Api) -> None:
    usages = []
    async with AsyncOpenAI(base_url=f"{api.url}/v1", api_key="none", max_retries=0) as client:
        previous: str | None = None
        for turn, text in enumerate(("Hi", "you are")):
            instructions = f"{HEADER.format('100.7b4', 'cli')} cch={turn:05x};\nToday's date: 2026-01-05\n{SYSTEM}"
            response = await client.responses.create(
                model="smollm2", input=text, instructions=instructions, previous_response_id=previous
            )
            previous = response.id
            assert response.usage is not None
            usages.append(response.usage)
            await api.services.model.next_prefixes.join()
    first, second = usages
    question = second.input_tokens - first.input_tokens
    assert second.input_tokens - second.input_tokens_details.cached_tokens < question


async def test_prompt_without_all_messages_is_not_prefilled(api: Api) -> None:
    tokens = len(api.engine.tokenizer.encode("you are " * 10, special=False))
    # The whole conversation fits, but without room for an answer.
    history: Any = [
        {"role": "user", "content": "you are " * (api.engine.max_model_len * 95 // 10 // tokens)},
        *QUESTION,
    ]
    async with AsyncOpenAI(base_url=f"{api.url}/v1", api_key="none", max_retries=0) as client:
        response = await client.responses.create(model="smollm2", input=history, truncation="auto")
    assert response.output_text == ANSWER
    await api.services.model.next_prefixes.join()
    [[kept]] = await api.services.store.database.read("SELECT count(*) FROM next_prefix", tenant=LOCAL)
    assert kept == 0


@pytest.mark.parametrize("tokens", [1, 3, 8])
async def test_answer_cut_during_or_after_reasoning_continues(api: Api, tokens: int) -> None:
    async with api_client(api.url) as http:
        conversation = await created(http)
        cut = await said(http, conversation, "Hi", params={"max_tokens": tokens})
        assert cut["status"] == "incomplete"
        assert THOUGHT.startswith(cut["reasoning"] or "")
        assert ANSWER.startswith(cut["content"])
        events = await all_events(await http.post(f"/api/messages/{cut['id']}/continue"))
        whole = events[-1].data["message"]
        assert (whole["reasoning"], whole["content"], whole["status"]) == (THOUGHT, ANSWER, "complete")
        told = "".join(event.data.get("reasoning", "") for event in events if event.kind == "delta")
        assert (told, text_of(events)) == (THOUGHT, ANSWER)
        numbers = [event.number for event in events]
        assert numbers == sorted(set(numbers))


async def test_prefix_computed_during_deletion_is_erased_too(api: Api) -> None:
    services = api.services

    class Deleting(NextPrefixStore):
        async def keep(self, message_id: str, token_ids: bytes) -> bool:
            kept = await super().keep(message_id, token_ids)
            services.model.erasure.begin(await services.store.deletions.remove_conversation(conversation), LOCAL)
            await asyncio.gather(*services.model.erasure._tasks)
            return kept

    async with api_client(api.url) as http:
        conversation = await created(http, system_prompt=SYSTEM)
        answer = await said(http, conversation, "Hi")
        await services.model.next_prefixes.stop()
        run = services.records.runs.get(answer["run_id"], LOCAL)
        assert run is not None
        store = replace(services.store, next_prefixes=Deleting(services.store.database))
        ahead = NextPromptPrefill(
            services.model.host, store, services.turns, services.model.erasure, poll_seconds=0.001
        )
        ahead.after(run)
        await ahead.join()
        await asyncio.gather(*services.model.erasure._tasks)
        await asyncio.to_thread(until, lambda: api.engine.stats().blocks.cached == 0)
