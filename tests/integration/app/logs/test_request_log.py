"""Request log lines, as a server writes them."""

import json
import logging
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from app.logs.log_lines import JsonLines
from engine.testing.replay_engine import ReplayEngine
from engine.testing.script import ANSWER_WORDS
from tests.integration.api_server import RunningServer, api_client, running_server
from tests.integration.sse_events import all_events


class Lines(logging.Handler):
    """Log handler that keeps the JSON lines in `kept`."""

    def __init__(self) -> None:
        super().__init__()
        self.setFormatter(JsonLines())
        self.kept: list[dict[str, Any]] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.kept.append(json.loads(self.format(record)))

    def of(self, message: str) -> list[dict[str, Any]]:
        return [line for line in self.kept if line["message"] == message]


@pytest.fixture
async def lines() -> AsyncIterator[Lines]:
    lines = Lines()
    logger = logging.getLogger("ebb.requests")
    logger.addHandler(lines)
    logger.setLevel(logging.DEBUG)
    yield lines
    logger.removeHandler(lines)
    logger.setLevel(logging.NOTSET)


async def test_request_logs_one_line_with_its_route_pattern(lines: Lines, http: aiohttp.ClientSession) -> None:
    await http.get("/api/conversations/conv_secret?q=secret", headers={"X-Request-Id": "mine"})
    await http.get("/secret/path")
    await http.get("/ready")
    found, lost, _ = lines.kept
    assert (found["method"], found["route"], found["status"]) == ("GET", "/api/conversations/{id}", 404)
    assert found["request_id"] == "mine"
    assert found["ms"] >= 0
    assert (lost["route"], lost["status"]) == ("-", 404)
    assert "secret" not in json.dumps(lines.kept)


async def test_run_logs_a_line_that_names_its_request(
    lines: Lines, http: aiohttp.ClientSession, api: RunningServer[ReplayEngine]
) -> None:
    conversation = await (await http.post("/api/conversations", json={})).json()
    url = f"/api/conversations/{conversation['id']}/messages"
    response = await http.post(url, json={"content": "a secret"}, headers={"X-Request-Id": "mine"})
    events = await all_events(response)
    [run] = lines.of("run")
    assert (run["run_id"], run["request_id"]) == (events[0].data["run_id"], "mine")
    assert (run["finish"], run["completion_tokens"]) == ("stop", ANSWER_WORDS + 1)
    assert "secret" not in json.dumps(lines.kept)


async def test_prompts_are_logged_only_if_enabled(lines: Lines, tmp_path: Path) -> None:
    async with (
        running_server(tmp_path, ReplayEngine(), log_messages=True) as server,
        api_client(server.url) as http,
    ):
        body = '{"model": "fake-1", "prompt": "the tides"}'
        await http.post("/v1/completions", data=body, headers={"Authorization": "Bearer hunter2"})
    [line] = lines.of("request")
    assert line["body"] == body
    assert line["completion_tokens"] == ANSWER_WORDS + 1
    assert "hunter2" not in json.dumps(lines.kept)
