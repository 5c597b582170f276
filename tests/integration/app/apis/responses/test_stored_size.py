"""The size of a database whose clients send the whole conversation with every request."""

import json
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from openai import AsyncOpenAI

from engine.testing.byte_chat_format import ByteChatFormat
from engine.testing.byte_tokenizer import END, START
from engine.testing.replay_engine import ReplayEngine
from models.chat.format import Message
from models.thinking import ThinkingMode
from tests.integration.api_server import running_server
from tests.integration.responses_rig import Api
from tests.sizes import Size

CHARACTERS_PER_TOKEN = 4


class WordyChatFormat(ByteChatFormat):
    """The format of the tests with as many tokens as a real tokenizer makes of a text."""

    def render(self, messages: Sequence[Message], *, thinking: ThinkingMode | None = None) -> list[int]:
        return [*(id_ for message in messages for id_ in ids_of(message)), START]

    def extend(
        self,
        prior_ids: Sequence[int],
        messages: Sequence[Message],
        *,
        num_new: int = 1,
        thinking: ThinkingMode | None = None,
    ) -> list[int]:
        closed = [] if prior_ids[-1] == END else [END]
        return [*closed, *self.render(messages[len(messages) - num_new :])]


def ids_of(message: Message) -> list[int]:
    said = f"{message.role}\n{message.content}".encode()
    return [START, *(1000 + said[at] for at in range(0, len(said), CHARACTERS_PER_TOKEN)), END]


@pytest.fixture
async def api(tmp_path: Path) -> AsyncIterator[Api]:
    engine = ReplayEngine(window=1 << 17)
    engine.chat_format = WordyChatFormat()
    async with running_server(tmp_path, engine) as server:
        yield server


def tool(number: int) -> Any:
    described = {"type": "string", "description": "A name."}
    return {
        "type": "function",
        "name": f"tool_{number}",
        "description": "Look up the tide. " * 8,
        "parameters": {"type": "object", "properties": {"place": described}, "additionalProperties": False},
        "strict": False,
    }


async def test_turns_with_instructions_and_tools_are_stored_once(client: AsyncOpenAI, api: Api, size: Size) -> None:
    # Instructions and tools have 14 kB each. The last of thirty requests has 109 kB of messages, and all together have
    # 1.7 MB.
    turns, nbytes, sent, most = size.pick(small=(12, 44e3, 280e3, 500e3), full=(30, 110e3, 1.7e6, 1e6))
    head: Any = {"instructions": "Speak of tides. " * 875, "tools": [tool(number) for number in range(40)]}
    assert 28_000 <= sum(len(json.dumps(part)) for part in head.values()) < 29_000
    before, history, num_sent = await file_size(api), list[Any](), 0
    for number in range(turns):
        history.append({"role": "user", "content": f"{number} {'high water ' * 300}"})
        num_sent += len(json.dumps(history))
        response = await client.responses.create(model="fake-1", input=history, **head)
        history += response.to_dict()["output"]
    assert len(json.dumps(history)) == pytest.approx(nbytes, rel=0.06)
    assert num_sent == pytest.approx(sent, rel=0.06)
    assert await file_size(api) - before <= most
    stored = (await client.responses.retrieve(response.id)).to_dict()
    assert {name: stored[name] for name in head} == head


async def file_size(api: Api) -> int:
    sql = "SELECT page_count * page_size AS nbytes FROM pragma_page_count, pragma_page_size"
    [row] = await api.services.store.database.read(sql)
    return int(row["nbytes"])
