"""Clients that write the beginning of their prompts differently each time reuse KV, in every compatible API."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from anthropic import AsyncAnthropic
from openai import AsyncOpenAI

from app.domain.response_record import message_id_of
from app.prompts.prefix_rules import AS_SENT, STABLE, PrefixRules
from engine.testing.byte_tokenizer import text_of
from engine.testing.replay_engine import ReplayEngine
from engine.wiring.build import build_engine
from tests.harness_bodies import HARNESSES, HEADER, claude_code, opencode
from tests.integration.api_server import RunningServer, running_server
from tests.integration.engine_rig import BLOCK, engine_config
from tests.integration.responses_rig import prompt
from tests.sizes import Size

Api = RunningServer[ReplayEngine]

REMOVED = {"removed": ["claude-code-billing-header"], "moved": []}
DATES = ("Today's date: Mon Sep 07 2026", "Today's date: Tue Sep 08 2026")
RULES = "Read a file before you change it. Keep each change small, and run the tests after every one of them. " * 8


def header(turn: int) -> str:
    return HEADER.format("100.7b4", "cli") + f" cch={turn:05x};"


@asynccontextmanager
async def real_server(shallow_model: Path, folder: Path, rules: PrefixRules = STABLE) -> AsyncIterator[str]:
    """Serve the default model, and yield the server's URL."""
    config = engine_config(shallow_model, folder / "state", redis_url="off")
    engine = await asyncio.to_thread(build_engine, config, lambda _: None)
    async with running_server(folder, engine, prefix_rules=rules) as server:
        yield server.url


async def turns_of_claude_code(url: str, num_turns: int) -> list[Any]:
    """Hold a conversation as Claude Code does, with another hash in each request. Return the usage of each answer."""
    messages: list[Any] = []
    usages: list[Any] = []
    async with AsyncAnthropic(base_url=url, api_key="none", max_retries=0) as client:
        for turn in range(num_turns):
            body = claude_code(header(turn))
            body["system"][2]["text"] += RULES
            messages += body["messages"] if not turn else [{"role": "user", "content": f"And file {turn}?"}]
            sampling = {"temperature": 0, "ignore_eos": True}
            fields = {**body, "messages": messages, "max_tokens": 16, "extra_body": sampling}
            answer = await client.messages.create(**fields)
            usages.append(answer.usage)
            messages.append({"role": "assistant", "content": answer.content})
    return usages


async def test_turns_with_changing_hash_reuse_all_full_blocks(shallow_model: Path, tmp_path: Path, size: Size) -> None:
    async with real_server(shallow_model, tmp_path) as url:
        usages = await turns_of_claude_code(url, size.pick(small=4, full=10))
    known = 0
    for usage in usages:
        assert usage.to_dict()["kv"]["volatile_lines"] == REMOVED
        assert usage.cache_read_input_tokens >= known // BLOCK * BLOCK
        # KV of an answer's last token is never computed.
        known = usage.input_tokens + usage.cache_read_input_tokens + usage.output_tokens - 1
    assert usages[0].cache_read_input_tokens == 0
    assert usages[1].cache_read_input_tokens > 4 * BLOCK


async def test_hash_ends_reuse_at_once_if_lines_are_kept(shallow_model: Path, tmp_path: Path) -> None:
    async with real_server(shallow_model, tmp_path, AS_SENT) as url:
        _, second = await turns_of_claude_code(url, 2)
    assert second.cache_read_input_tokens < 2 * BLOCK
    assert "volatile_lines" not in second.to_dict()["kv"]


async def test_next_day_and_other_tool_order_keep_rules_and_tools(shallow_model: Path, tmp_path: Path) -> None:
    names = ["write_file", "read_file", "run_command"]
    tools: list[Any] = [{"type": "function", "function": {"name": name, "description": RULES[:200]}} for name in names]
    usages: list[Any] = []
    async with (
        real_server(shallow_model, tmp_path) as url,
        AsyncOpenAI(base_url=f"{url}/v1", api_key="none", max_retries=0) as client,
    ):
        for date, order in zip(DATES, (tools, tools[::-1]), strict=True):
            body = opencode(date)
            body["messages"][0]["content"] += RULES
            answer = await client.chat.completions.create(**body, tools=order, max_tokens=8, temperature=0)
            assert answer.usage is not None
            usages.append(answer.usage.to_dict())
    assert [usage["kv"]["volatile_lines"] for usage in usages] == [{"removed": [], "moved": ["todays-date"]}] * 2
    assert min(usage["prompt_tokens"] for usage in usages) > 5 * BLOCK
    # Only the block in which the user's message begins is computed again, and that message.
    assert usages[1]["kv"]["computed"] < 2 * BLOCK


@pytest.mark.parametrize("name", ["Claude Code 2.1", "opencode"])
async def test_counted_tokens_are_those_of_the_prompt(api: Api, http: aiohttp.ClientSession, name: str) -> None:
    [harness] = [each for each in HARNESSES if each.client == name]
    body = {**harness.make(harness.lines[0]), "model": "fake-1"}
    body.pop("tools", None)
    if "max_tokens" in body:
        answered = await (await http.post("/v1/messages", json=body)).json()
        fields = {key: body[key] for key in ("model", "system", "messages")}
        counted = (await (await http.post("/v1/messages/count_tokens", json=fields)).json())["input_tokens"]
        assert answered["usage"]["input_tokens"] == counted
    else:
        await http.post("/v1/chat/completions", json=body)
        counted = (await (await http.post("/tokenize", json=body)).json())["count"]
    assert counted == len(api.engine.requests[0].prompt)
    assert harness.lines[0] not in text_of(api.engine.requests[0].prompt).partition("><user\n")[0]


async def test_stored_response_is_continued_despite_a_changing_hash(client: AsyncOpenAI, api: Api) -> None:
    previous: str | None = None
    for turn in range(3):
        response = await client.responses.create(
            model="fake-1", input=str(turn), instructions=f"{header(turn)}Be brief.", previous_response_id=previous
        )
        assert response.instructions == f"{header(turn)}Be brief."
        assert response.usage is not None
        assert response.usage.to_dict()["kv"]["volatile_lines"] == REMOVED  # type: ignore[index]
        previous = response.id
    assert prompt(api, 0) == "<system\nBe brief.><user\n0><assistant\n"
    for earlier, later in zip(api.engine.requests, api.engine.requests[1:], strict=False):
        so_far = (*earlier.prompt, *earlier.produced)
        assert later.prompt[: len(so_far)] == so_far


async def test_run_of_a_response_reports_its_treated_lines(
    client: AsyncOpenAI, api: Api, http: aiohttp.ClientSession
) -> None:
    items: Any = [{"role": "developer", "content": DATES[0]}, {"role": "user", "content": "hi"}]
    response = await client.responses.create(model="fake-1", input=items, instructions="Be brief.")
    assert prompt(api, 0) == f"<system\nBe brief.><user\n{DATES[0]}\n\nhi><assistant\n"
    answer = await api.services.store.messages.get(message_id_of(response.id))
    report = await (await http.get(f"/api/runs/{answer.run_id}/kv")).json()
    assert report["receipt"]["volatile_lines"] == {"removed": [], "moved": ["todays-date"]}
    stored = await api.services.store.messages.path(answer.parent_id)
    assert [message.content for message in stored] == [DATES[0], "hi"]


async def test_next_day_renders_a_stored_response_again(client: AsyncOpenAI, api: Api) -> None:
    instructions = [f"{date}\nBe brief." for date in DATES]
    first = await client.responses.create(model="fake-1", input="one", instructions=instructions[0])
    for text in instructions:
        await client.responses.create(
            model="fake-1", input="two", instructions=text, previous_response_id=first.id, store=False
        )
    same, other = api.engine.requests[1].prompt, api.engine.requests[2].prompt
    so_far = (*api.engine.requests[0].prompt, *api.engine.requests[0].produced)
    assert same[: len(so_far)] == so_far
    assert text_of(other).startswith(f"<system\nBe brief.><user\n{DATES[1]}\n\none><assistant\n")


async def test_chats_of_the_page_keep_every_line(api: Api, http: aiohttp.ClientSession) -> None:
    system = f"{header(0)}\n{DATES[0]}\nBe brief."
    made = await (await http.post("/api/conversations", json={"system_prompt": system})).json()
    sent = await http.post(f"/api/conversations/{made['id']}/messages", json={"content": "hi"})
    await sent.read()
    assert prompt(api, 0) == f"<system\n{system}><user\nhi><assistant\n"
