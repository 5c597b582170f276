"""Budgets of thoughts after kill -9 of the server in the middle of them."""

import asyncio
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pytest
from openai import AsyncOpenAI
from openai.types.responses import Response, ResponseStreamEvent

from bench.server import EbbServer, ServerSettings
from tests.forked_server import ForkedServer
from tests.sizes import MANY_PROCESSES

FLAGS: Final = ("--kv-memory", "128MiB", "--cpu-kv-memory", "0", "--redis-url", "off")
BUDGET: Final = 360
UNFINISHED_MARK: Final = 2
"""Tokens of the mark before its last, which count as thoughts."""
TOKENS: Final = 400
ASKED: Final[dict[str, Any]] = {
    "model": "thinker",
    "input": "A long story, please.",
    "temperature": 0.8,
    "max_output_tokens": TOKENS,
    "background": True,
}
SAMPLED: Final[dict[str, Any]] = {"seed": 5, "ignore_eos": True}


@pytest.fixture
def thinker(shallow_model: Path, tmp_path: Path) -> Path:
    """Return the folder of a model whose template opens the thoughts, which it never ends by itself."""
    folder = tmp_path / "thinker"
    folder.mkdir()
    for each in shallow_model.iterdir():
        (folder / each.name).symlink_to(each)
    file = folder / "tokenizer_config.json"
    config = json.loads(file.read_text())
    before, mark, after = config["chat_template"].rpartition("<|im_start|>assistant\n")
    assert mark
    file.unlink()
    file.write_text(json.dumps(config | {"chat_template": f"{before}{mark}<think>\n{after}"}))
    return folder


def client_of(server: EbbServer) -> AsyncOpenAI:
    return AsyncOpenAI(base_url=f"{server.client.base_url}/v1", api_key="none", max_retries=0)


@dataclass
class Heard:
    """The events of a response, over all connections to it."""

    response_id: str = ""
    number: int = -1
    thoughts: str = ""
    text: str = ""
    end: Response | None = None

    def take(self, event: ResponseStreamEvent) -> None:
        assert event.sequence_number > self.number
        self.number = event.sequence_number
        match event.type:
            case "response.created":
                self.response_id = event.response.id
            case "response.reasoning_text.delta":
                self.thoughts += event.delta
            case "response.output_text.delta":
                self.text += event.delta
            case "response.completed" | "response.incomplete":
                self.end = event.response


async def hear(client: AsyncOpenAI, heard: Heard, most: int = 1 << 20, **sampled: Any) -> Heard:
    """Read a new response, or the rest of one, to its end, or until its thoughts have `most` characters."""
    if heard.response_id:
        stream: Any = await client.responses.retrieve(heard.response_id, stream=True, starting_after=heard.number)
    else:
        stream = await client.responses.create(**ASKED, stream=True, extra_body=SAMPLED | sampled)
    async with asyncio.timeout(60):
        async for event in stream:
            heard.take(event)
            if len(heard.thoughts) >= most:
                await stream.close()
                break
    return heard


@MANY_PROCESSES
async def test_thoughts_end_at_their_budget_after_kill_9(thinker: Path, tmp_path: Path) -> None:
    settings = ServerSettings("budget", (*FLAGS, "--model", str(thinker)))
    async with ForkedServer(settings, tmp_path / "state") as server:
        async with client_of(server) as client:
            free = await hear(client, Heard())
            whole = await hear(client, Heard(), thinking_token_budget=BUDGET)
            cut = await hear(client, Heard(), len(whole.thoughts) // 2, thinking_token_budget=BUDGET)
        assert cut.end is None
        await server.restart_after_kill()
        async with client_of(server) as client:
            await hear(client, cut)
        assert "resuming answers that the stop of a server interrupted: 1" in server.log.read_text()
    assert free.text == ""
    assert free.thoughts.startswith(whole.thoughts)
    assert len(free.thoughts) > len(whole.thoughts)
    assert (cut.thoughts, cut.text) == (whole.thoughts, whole.text)
    for each in (whole, cut):
        assert each.text
        assert each.end is not None
        usage = each.end.usage
        assert usage is not None
        assert usage.output_tokens == TOKENS
        assert usage.output_tokens_details.reasoning_tokens == BUDGET + UNFINISHED_MARK
