"""A stored response of which the database does not say whether it is stored: clients do not ask twice by themselves."""

from collections.abc import Callable
from concurrent.futures import Future
from typing import TypeVar

import openai
import pytest

from app.domain.storage_health import CommitUnknownError
from app.storage.database import WriteQueue
from engine.testing.replay_engine import ReplayEngine
from tests.integration.api_server import RunningServer

T = TypeVar("T")


def lose_answer_to_next_write(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave the client of the next write in doubt, although it is stored."""
    run = WriteQueue.run

    async def run_unheard(queue: WriteQueue, write: Callable[[], T]) -> T:
        monkeypatch.setattr(WriteQueue, "run", run)
        await run(queue, write)
        raise CommitUnknownError(Future())

    monkeypatch.setattr(WriteQueue, "run", run_unheard)


async def test_client_does_not_repeat_a_doubtful_write(
    api: RunningServer[ReplayEngine], monkeypatch: pytest.MonkeyPatch
) -> None:
    async with openai.AsyncOpenAI(base_url=f"{api.url}/v1", api_key="none", max_retries=2) as client:
        conversation = await client.conversations.create()
        lose_answer_to_next_write(monkeypatch)
        with pytest.raises(openai.InternalServerError) as raised:
            await client.responses.create(model="fake-1", input="When?", conversation=conversation.id)
        assert (raised.value.code, raised.value.status_code) == ("commit_unknown", 503)
        items = await client.conversations.items.list(conversation.id)
        assert [each.type for each in items.data].count("message") <= 2
    assert len(api.engine.requests) == 1
