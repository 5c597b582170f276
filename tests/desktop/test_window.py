"""A window on the screen of Xvfb, driven through the remote debugging of its own browser, Qt WebEngine."""

import asyncio
import json
import os
import shutil
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from tests.conftest import default_cache_dir
from tests.redis_server import free_port
from tests.server_environment import server_environment
from tests.waiting import until

COMMAND = (sys.executable, "-c", "from app.cli.main import main; raise SystemExit(main())", "desktop")
START_SECONDS = 120.0
STOP_SECONDS = 60.0
ASK = """new Promise((resolve) => {
    const field = document.querySelector("textarea");
    field.value = "What is the tide?";
    field.dispatchEvent(new Event("input", {bubbles: true}));
    field.dispatchEvent(new KeyboardEvent("keydown", {key: "Enter", bubbles: true, cancelable: true}));
    const look = () => document.querySelector("[data-testid=receipt]") ? resolve(document.title) : setTimeout(look, 50);
    look();
})"""


@pytest.fixture
def screen(tmp_path: Path) -> Iterator[str]:
    """Run a virtual screen, and yield its name."""
    program = shutil.which("Xvfb")
    if program is None:
        pytest.skip("Xvfb is not installed; install it (Debian, Ubuntu: apt-get install xvfb)")
    reading, writing = os.pipe()
    command = [program, "-displayfd", str(writing), "-screen", "0", "1280x900x24", "-nolisten", "tcp"]
    with (tmp_path / "xvfb.log").open("wb") as log, os.fdopen(reading) as names:
        process = subprocess.Popen(command, pass_fds=[writing], stdout=log, stderr=log)
        os.close(writing)
        yield f":{names.readline().strip()}"
        process.terminate()
        process.wait()


def evaluate(port: int, expression: str) -> Any:
    """Evaluate a JavaScript expression in the window, and return its value."""
    return asyncio.run(_evaluate(targets(port)[0]["webSocketDebuggerUrl"], expression))


def targets(port: int) -> list[dict[str, Any]]:
    """Return the pages that the browser of the window shows."""
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/json/list") as response:
        return [target for target in json.load(response) if target["type"] == "page"]


async def _evaluate(address: str, expression: str) -> Any:
    given = {"expression": expression, "awaitPromise": True, "returnByValue": True}
    async with aiohttp.ClientSession() as session, session.ws_connect(address) as socket:
        await socket.send_json({"id": 1, "method": "Runtime.evaluate", "params": given})
        async for message in socket:
            reply = json.loads(message.data)
            if reply.get("id") == 1:
                return reply["result"]["result"].get("value")
    raise AssertionError("the window was closed")


def opens(url: str) -> bool:
    try:
        urllib.request.urlopen(url, timeout=5).close()
    except OSError:
        return False
    return True


def test_window_shows_chat_and_its_server_ends_with_it(screen: str, tmp_path: Path) -> None:
    pytest.importorskip("webview", reason="pywebview is not installed; run make test-desktop")
    port, debugging = free_port(), free_port()
    url = f"http://127.0.0.1:{port}"
    flags = ("--port", str(port), "--state-dir", str(tmp_path / "state"), "--cache-dir", str(default_cache_dir()))
    window = {
        "DISPLAY": screen,
        "QTWEBENGINE_REMOTE_DEBUGGING": str(debugging),
        # The sandbox does not work as root, which tests in containers run as.
        "QTWEBENGINE_CHROMIUM_FLAGS": "--no-sandbox",
    }
    with (tmp_path / "desktop.log").open("wb") as log:
        command = [*COMMAND, *flags, "--kv-memory", "128MiB", "--redis-memory", "128MiB"]
        process = subprocess.Popen(command, env=server_environment(window), stdout=log, stderr=log)
    try:
        until(lambda: opens(f"{url}/ready"), timeout=START_SECONDS)
        until(lambda: opens(f"http://127.0.0.1:{debugging}/json/list"), timeout=START_SECONDS)
        until(lambda: any(target["url"].startswith(url) for target in targets(debugging)))
        assert evaluate(debugging, "[outerWidth, outerHeight].join()") == "1200,800"
        assert evaluate(debugging, ASK) == "What is the tide? · Ebb"

        process.send_signal(signal.SIGINT)
        assert process.wait(STOP_SECONDS) == 0, (tmp_path / "desktop.log").read_text()
        assert not opens(f"{url}/health")
        assert (tmp_path / "state" / "desktop").is_dir()
    finally:
        process.kill()
        process.wait()
