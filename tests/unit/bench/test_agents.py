import json
from pathlib import Path

import pytest
from aiohttp import ClientSession, web
from aiohttp.test_utils import TestServer

from bench.agents import figures
from bench.agents.figures import MissingFiguresError, Result, Tokens, Turn, logged
from bench.agents.recorder import Recorded, Recorder
from bench.agents.report import AS_SENT, RULES, targets, to_markdown

FIRST = Turn(1, False, 1, Tokens(prompt=1000, computed=1000))
SECOND = Turn(2, False, 1, Tokens(prompt=1100, device=1000, cpu=40, computed=60))
THIRD = Turn(3, True, 2, Tokens(prompt=900, redis=800, computed=100), 1, Tokens(prompt=50, computed=50))
NEXT = Turn(4, False, 1, Tokens(prompt=1000, device=900, computed=100))


def line(request_id: str, **facts: object) -> str:
    return json.dumps({"message": "request", "request_id": request_id, **facts})


def test_first_turn_and_background_are_left_out_of_share() -> None:
    result = Result("aider", "1", RULES, (FIRST, SECOND, THIRD), NEXT)
    assert result.later == Tokens(prompt=2000, device=1000, cpu=40, redis=800, computed=160)
    assert result.later.share == pytest.approx(0.92)
    assert result.least_share == pytest.approx(800 / 900)


def test_arm_without_rules_has_no_target() -> None:
    rules, as_sent = (Result("aider", "1", arm, (FIRST, SECOND), NEXT) for arm in (RULES, AS_SENT))
    assert [target.met for target in targets([rules, as_sent])] == [False]
    assert [target.met for target in targets([Result("aider", "1", RULES, (FIRST, FIRST), NEXT)])] == [False]
    better = Turn(2, False, 1, Tokens(prompt=1000, redis=950, computed=50))
    assert [target.met for target in targets([Result("aider", "1", RULES, (FIRST, better), NEXT)])] == [True]


def test_tables_show_kills_and_background_requests() -> None:
    page = to_markdown([Result("aider", "1", RULES, (FIRST, SECOND, THIRD), NEXT)])
    assert "| aider | rules | 3 | 2,000 | 1,000 | 40 | 800 | 160 | 92.0% | 88.9% | 90.0% |" in page
    assert "| 3, after kill -9 | 2 | 900 | 0 | 0 | 800 | 100 | 88.9% | 1 of 50 tokens |" in page


async def test_figures_are_those_of_the_named_requests(tmp_path: Path) -> None:
    log = tmp_path / "server.log"
    log.write_text("\n".join(["Traceback:", line("agent-1", computed=3), line("agent-2"), line("other")]))
    found = await logged(log, {"agent-1", "agent-2"})
    assert found.keys() == {"agent-1", "agent-2"}
    assert found["agent-1"]["computed"] == 3


async def test_figures_of_a_response_are_those_of_its_run(tmp_path: Path) -> None:
    log = tmp_path / "server.log"
    run = json.dumps({"message": "run", "run_id": "run_1", "request_id": "agent-1", "computed": 3})
    log.write_text("\n".join([line("agent-1", route="/v1/responses", status=200), run]))
    found = await logged(log, {"agent-1"})
    assert (found["agent-1"]["computed"], found["agent-1"]["status"]) == (3, 200)


async def test_missing_figures_are_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(figures, "LOG_SECONDS", 0.0)
    (tmp_path / "server.log").write_text(line("agent-1"))
    with pytest.raises(MissingFiguresError, match="no line of agent-2"):
        await logged(tmp_path / "server.log", {"agent-1", "agent-2"})


async def test_recorder_passes_requests_on_and_keeps_bodies() -> None:
    seen: list[tuple[str, str, bytes]] = []

    async def answer(request: web.Request) -> web.Response:
        seen.append((request.headers["X-Request-Id"], request.headers["Authorization"], await request.read()))
        return web.Response(status=418, text="short and stout", headers={"X-Kind": "teapot"})

    app = web.Application()
    app.router.add_post("/v1/pots", answer)
    async with TestServer(app) as server, Recorder(str(server.make_url("")).rstrip("/")) as recorder:
        headers = {"Authorization": "Bearer key"}
        async with (
            ClientSession(recorder.url, headers=headers) as session,
            session.post("/v1/pots?hot=1", json={"model": "tea"}) as response,
        ):
            assert (response.status, response.headers["X-Kind"]) == (418, "teapot")
            assert await response.text() == "short and stout"
        assert recorder.take() == [Recorded("agent-1", "/v1/pots", {"model": "tea"}, 418)]
        assert recorder.take() == []
    assert seen == [("agent-1", "Bearer key", b'{"model": "tea"}')]


async def test_recorder_sends_the_changed_body_and_keeps_the_other() -> None:
    seen: list[bytes] = []

    async def answer(request: web.Request) -> web.Response:
        seen.append(await request.read())
        return web.Response()

    app = web.Application()
    app.router.add_post("/v1/pots", answer)
    async with (
        TestServer(app) as server,
        Recorder(str(server.make_url("")).rstrip("/"), lambda body: {**body, "sugar": 2}) as recorder,
        ClientSession(recorder.url) as session,
    ):
        await session.post("/v1/pots", json={"model": "tea"})
        assert recorder.take() == [Recorded("agent-1", "/v1/pots", {"model": "tea"}, 200)]
    assert seen == [b'{"model": "tea", "sugar": 2}']
