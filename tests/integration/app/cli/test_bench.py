"""`ebb bench` against a real server with a fake model."""

import asyncio
import json
import os
import pty
import sys
from pathlib import Path

import pytest
from aiohttp import web

from app.cli.main import main
from bench.server import EbbServer, ServerSettings
from engine.testing.replay_engine import ReplayEngine
from tests.forked_process import ForkedProcess, run_forked
from tests.integration.api_server import running_server

STUB = (sys.executable, str(Path(__file__).parents[2] / "bench_stub_server.py"))
SMALL = ("--streams", "1,3", "--prompt-tokens", "400", "--output-tokens", "6", "--rounds", "2")


async def run(*flags: str) -> tuple[int, str, str]:
    """Run `ebb bench` and return exit status, standard output and standard error."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("EBB_")}
    return await asyncio.to_thread(run_forked, main, "bench", *flags, environment=environment)


async def test_each_stream_count_is_measured_printed_and_saved(tmp_path: Path) -> None:
    async with EbbServer(ServerSettings("stub"), tmp_path / "state", STUB) as server:
        url = server.client.base_url
        status, output, errors = await run("--url", url, *SMALL, "--json", str(tmp_path / "result.json"))
    assert (status, errors) == (0, "")
    assert f"stub at {url}: prompts of 400 tokens, answers of 6" in output
    rows = [line.split() for line in output.splitlines() if " ms " in line]
    assert [row[0] for row in rows] == ["1", "3"]
    assert all(len(row) == 2 + 6 * 2 for row in rows)

    result = json.loads((tmp_path / "result.json").read_text())
    assert (result["model"], result["prompt_tokens"], result["output_tokens"]) == ("stub", 400, 6)
    for level, streams in zip(result["levels"], (1, 3), strict=True):
        assert level["streams"] == streams
        assert len(level["rounds"]) == 2
        # On a busy machine a short answer may arrive all at once. Then there is neither a rate nor a gap.
        assert all(rate is None or rate > 0 for rate in level["rounds"])
        assert (level["tokens_per_second"] is None) == (not any(level["rounds"]))
        assert 0 <= level["itl_ms"]["p50"] <= level["itl_ms"]["p99"]
        for sample in ("ttft_cold_ms", "ttft_cached_ms"):
            assert 0 < level[sample]["p50"] <= level[sample]["p99"]


async def test_terminal_shows_progress_and_is_cleared_at_the_end(tmp_path: Path) -> None:
    terminal, inside = pty.openpty()
    async with running_server(tmp_path, ReplayEngine()) as server:
        flags = ("--url", server.url, "--streams", "3", "--rounds", "1")
        nothing = os.open(os.devnull, os.O_WRONLY)
        process = ForkedProcess(main, ["bench", *flags], stdout=nothing, stderr=inside)
        os.close(nothing)
        assert await asyncio.to_thread(process.wait, 60) == 0
    os.close(inside)
    shown = os.read(terminal, 1 << 16).decode()
    os.close(terminal)
    assert "3 streams, round 1 of 1: new prompts: 2 of 3 answers" in shown
    assert "3 streams, round 1 of 1: answers: 3 of 3 answers" in shown
    assert shown.endswith("\r\x1b[K")


async def test_prompts_have_the_requested_length_in_tokens(tmp_path: Path) -> None:
    """Use the fake engine, which counts bytes as tokens: about six per word."""
    async with running_server(tmp_path, ReplayEngine()) as server:
        status, _, _ = await run("--url", server.url, "--streams", "2", "--rounds", "1", "--prompt-tokens", "400")
        asked = [stream.prompt for stream in server.engine.requests]
    assert status == 0
    # Two requests calibrate tokens per word. Two new prompts follow, and both are sent again.
    prompts = asked[2:]
    assert len(prompts) == 4
    assert {tuple(prompt) for prompt in prompts[:2]} == {tuple(prompt) for prompt in prompts[2:]}
    assert [len(prompt) for prompt in prompts] == pytest.approx([400] * 4, rel=0.2)


async def test_unreachable_server_is_reported_in_one_message(tmp_path: Path) -> None:
    async with running_server(tmp_path, ReplayEngine()) as server:
        gone = server.url
    status, output, errors = await run("--url", gone, *SMALL)
    assert (status, output) == (1, "")
    assert errors.startswith(f"ebb: no server answers at {gone} (")
    assert "Traceback" not in errors


async def test_refusal_is_reported_in_the_servers_words(tmp_path: Path) -> None:
    async with running_server(tmp_path, ReplayEngine()) as server:
        status, _, errors = await run("--url", server.url, *SMALL[:2], "--prompt-tokens", "100000")
    assert status == 1
    assert errors.startswith("ebb: HTTP 400: ")
    assert "{" not in errors


async def test_starting_server_is_reported(tmp_path: Path) -> None:
    async with running_server(tmp_path, ReplayEngine(), ready=False) as server:
        status, _, errors = await run("--url", server.url)
    assert status == 1
    assert "ebb: HTTP 503: The server is starting" in errors


async def test_key_is_read_from_the_command_line_or_a_file(tmp_path: Path) -> None:
    keys: list[str | None] = []

    async def models(request: web.Request) -> web.Response:
        keys.append(request.headers.get("Authorization"))
        return web.json_response({"error": {"message": "wrong key"}}, status=401)

    app = web.Application()
    app.router.add_get("/v1/models", models)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    port = runner.addresses[0][1]
    (tmp_path / "key").write_text("from-file\n")
    for flags in ((), ("--api-key", "typed"), ("--api-key", f"@{tmp_path / 'key'}")):
        status, _, errors = await run("--host", "127.0.0.1", "--port", str(port), *flags)
        assert (status, errors) == (1, "ebb: HTTP 401: wrong key\n")
    await runner.cleanup()
    assert keys == [None, "Bearer typed", "Bearer from-file"]


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        (("--streams", "1,x"), "--streams: 'x' is not a whole number"),
        (("--streams", "0"), "--streams: 0 is not between 1 and 4096"),
        (("--url", "localhost:8000"), "--url: 'localhost:8000' is not http://host:port"),
        (("--api-key", "@/proc/none"), "--api-key: /proc/none: No such file"),
        (("--json", "/proc/none/result.json"), "/proc/none/result.json: the folder does not exist"),
        (("--round", "3"), "unknown argument --round; did you mean --rounds?"),
    ],
)
async def test_invalid_argument_is_reported_before_any_request(flags: tuple[str, ...], words: str) -> None:
    status, _, errors = await run(*flags)
    assert status == 2
    assert words in errors
    assert "Traceback" not in errors
