"""Coding agents that hold ten turns with their defaults, and begin a session on the next day."""

import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from bench.agents.figures import Tokens, logged
from bench.agents.project import NEXT_QUESTION, QUESTIONS
from bench.agents.recorder import Recorder
from tests.clients.heavy.coding_agents import (
    CLINE,
    CODEX,
    COPILOT,
    OPENCODE,
    Agent,
    cline,
    cline_in_editor,
    codex,
    copilot,
    opencode,
)
from tests.clients.heavy.served import Served
from tests.clients.heavy.steering import Steering, offers_tools
from tests.integration.compatibility import row

TODAY, TOMORROW = "Etc/GMT+12", "Etc/GMT-14"
"""Time zones whose dates always differ."""
TURNS_WITH_A_TOOL = (2, 5, 8)
BLOCK = 64
FOUND_NEXT_DAY = 0.95


@dataclass(frozen=True)
class Watched:
    """An agent behind a proxy that keeps its requests and requires its tool where a turn has to use one."""

    agent: Agent
    recorder: Recorder
    steering: Steering
    log: Path

    async def ten_turns(self, zone: str) -> list[Tokens]:
        """Hold ten turns and return the tokens of the requests' prompts."""
        tokens = list[Tokens]()
        async with self.agent.session(zone) as ask:
            for number, question in enumerate(QUESTIONS, start=1):
                self.steering.is_due = number in TURNS_WITH_A_TOOL
                await ask(question)
                of_turn = await self._prompts()
                # The result of a tool comes with a separate request.
                assert len(of_turn) > (number in TURNS_WITH_A_TOOL), (number, of_turn)
                tokens += of_turn
        return tokens

    async def first_turn(self, zone: str) -> Tokens:
        """Begin a session and return the tokens of the first prompt."""
        async with self.agent.session(zone) as ask:
            await ask(NEXT_QUESTION)
        return (await self._prompts())[0]

    async def _prompts(self) -> list[Tokens]:
        requests = self.recorder.take()
        assert all(each.status < 300 for each in requests), [(each.path, each.status) for each in requests]
        ids = [each.request_id for each in requests if offers_tools(each.body)]
        lines = await logged(self.log, ids)
        return [Tokens.of_line(lines[each]) for each in ids]


@asynccontextmanager
async def watched(ebb: Served, make: Callable[[str], Agent]) -> AsyncIterator[Watched]:
    """Put a proxy between the server and the agent that `make` returns for the proxy's address."""
    vocabulary = json.loads((ebb.tokenizer / "tokenizer.json").read_text())["model"]["vocab"]
    steering = Steering([vocabulary[mark] for mark in '"}'])
    async with Recorder(ebb.url, steering) as recorder:
        agent = make(recorder.url)
        steering.tool = agent.tool
        yield Watched(agent, recorder, steering, ebb.log)


async def assert_holds_ten_turns(seen: Watched) -> None:
    """Assert that each prompt of ten turns finds all of the one before it."""
    for before, after in pairwise(await seen.ten_turns(TODAY)):
        assert after.prompt - after.computed > before.prompt - BLOCK, (before, after)


async def assert_finds_prompt_next_day(seen: Watched) -> None:
    """Assert that a session on the next day finds the instructions and the tools of today's."""
    next_day = await seen.first_turn(TOMORROW)
    assert next_day.share >= FOUND_NEXT_DAY, next_day


@row(CODEX, "codex exec ..., codex exec resume --last ...", "ten turns with tools: each prompt finds the one before "
     "it, and a session on the next day at least 95 % of its own; a provider with `wire_api = \"responses\"`, and an "
     "alias for the model")  # fmt: skip
async def test_codex_holds_ten_turns_and_finds_prompt_next_day(ebb: Served, tmp_path: Path) -> None:
    async with watched(ebb, lambda url: codex(url, ebb.key, tmp_path)) as seen:
        await assert_holds_ten_turns(seen)
        await assert_finds_prompt_next_day(seen)


@row(OPENCODE, "opencode run ..., opencode run --continue ...", "the same; a provider of `@ai-sdk/openai-compatible`")
async def test_opencode_holds_ten_turns_and_finds_prompt_next_day(ebb: Served, tmp_path: Path) -> None:
    async with watched(ebb, lambda url: opencode(url, ebb.key, tmp_path, ebb.model)) as seen:
        await assert_holds_ten_turns(seen)
        await assert_finds_prompt_next_day(seen)


@row(COPILOT, "copilot -p ..., copilot --continue -p ...", "the same; `COPILOT_PROVIDER_BASE_URL`, "
     "`COPILOT_PROVIDER_API_KEY` and `COPILOT_MODEL`")  # fmt: skip
async def test_copilot_holds_ten_turns_and_finds_prompt_next_day(ebb: Served, tmp_path: Path) -> None:
    async with watched(ebb, lambda url: copilot(url, ebb.key, tmp_path, ebb.model)) as seen:
        await assert_holds_ten_turns(seen)
        await assert_finds_prompt_next_day(seen)


@row(CLINE, "cline --acp", "the same, in an editor; `cline auth -p openai-compatible -b .../v1`")
async def test_cline_holds_ten_turns_and_finds_prompt_next_day(ebb: Served, tmp_path: Path) -> None:
    async with watched(ebb, lambda url: cline_in_editor(url, ebb.key, tmp_path, ebb.model)) as seen:
        await assert_holds_ten_turns(seen)
        await assert_finds_prompt_next_day(seen)


@row(CLINE, "cline ...", "the answer; a question on the next day finds at least 95 % of its prompt")
async def test_cline_prints_answer_and_finds_prompt_next_day(ebb: Served, tmp_path: Path) -> None:
    async with watched(ebb, lambda url: cline(url, ebb.key, tmp_path, ebb.model)) as seen:
        await seen.first_turn(TODAY)
        await assert_finds_prompt_next_day(seen)
