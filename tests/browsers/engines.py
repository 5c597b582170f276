"""Debian's Firefox and WebKitGTK, driven by the standards that both speak: WebDriver, and WebDriver BiDi."""

import json
import os
import shutil
import socket
import subprocess
import urllib.error
import urllib.request
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from websockets.exceptions import InvalidHandshake
from websockets.sync.client import ClientConnection, connect

from tests.waiting import until

START_SECONDS = 60.0
ENTER = "\ue007"
ESCAPE = "\ue00c"


class Engine(ABC):
    """A browser with one window, which the tests of a package share."""

    @abstractmethod
    def open(self, url: str) -> None:
        """Open an address, and wait until its documents and scripts are loaded."""

    @abstractmethod
    def run(self, script: str) -> Any:
        """Return the JSON value of a JavaScript expression, awaited."""

    @abstractmethod
    def act(self, actions: list[dict[str, Any]]) -> None:
        """Perform input as a person does, in the form that both standards share."""

    def type(self, text: str) -> None:
        """Press the keys of a text."""
        keys = [{"type": kind, "value": key} for key in text for kind in ("keyDown", "keyUp")]
        self.act([{"type": "key", "id": "keys", "actions": keys}])

    def click(self, selector: str, *, text: str = "") -> None:
        """Click the middle of the last visible element that a selector finds and that has a text or a label."""
        x, y = until(lambda: self._place(selector, text), timeout=START_SECONDS)
        mouse = [
            {"type": "pointerMove", "x": x, "y": y},
            {"type": "pointerDown", "button": 0},
            {"type": "pointerUp", "button": 0},
        ]
        self.act([{"type": "pointer", "id": "mouse", "parameters": {"pointerType": "mouse"}, "actions": mouse}])

    def sees(self, expression: str) -> Any:
        """Wait until an expression is true, and return its value."""
        return until(lambda: self.run(expression), timeout=START_SECONDS)

    def _place(self, selector: str, text: str) -> tuple[int, int] | None:
        found = self.run(
            f"""(() => {{
              const named = (each) => (each.ariaLabel ?? each.textContent).includes({json.dumps(text)});
              const shown = (each) => each.getClientRects().length > 0;
              const found = [...document.querySelectorAll({json.dumps(selector)})].filter(named).filter(shown).at(-1);
              if (!found || found.disabled) return null;
              found.scrollIntoView({{ block: "nearest" }});
              const {{ x, y, width, height }} = found.getBoundingClientRect();
              return [Math.round(x + width / 2), Math.round(y + height / 2)];
            }})()"""
        )
        return None if found is None else (found[0], found[1])


class WebKit(Engine):
    """MiniBrowser through WebKitWebDriver."""

    def __init__(self, port: int) -> None:
        self._url = f"http://127.0.0.1:{port}"
        [browser, *_] = sorted(Path("/usr/lib").glob("*/webkit2gtk-4.*/MiniBrowser"))
        options = {"binary": str(browser), "args": ["--automation"]}
        wanted = {"capabilities": {"alwaysMatch": {"webkitgtk:browserOptions": options}}}
        made = until(lambda: self._try("/session", wanted), timeout=START_SECONDS)
        self._url += f"/session/{made['sessionId']}"
        self._post("/timeouts", {"script": 60_000})

    def open(self, url: str) -> None:
        self._post("/url", {"url": url})

    def run(self, script: str) -> Any:
        wrapped = f"const done = arguments[0]; Promise.resolve({script}).then(done, (error) => done(String(error)));"
        return self._post("/execute/async", {"script": wrapped, "args": []})

    def act(self, actions: list[dict[str, Any]]) -> None:
        self._post("/actions", {"actions": actions})

    def close(self) -> None:
        request = urllib.request.Request(self._url, method="DELETE")
        urllib.request.urlopen(request, timeout=START_SECONDS).close()

    def _try(self, path: str, body: dict[str, Any]) -> Any:
        try:
            return self._post(path, body)
        except urllib.error.HTTPError:
            raise
        except OSError:
            return None

    def _post(self, path: str, body: dict[str, Any]) -> Any:
        request = urllib.request.Request(self._url + path, json.dumps(body).encode())
        with urllib.request.urlopen(request, timeout=START_SECONDS) as response:
            return json.load(response)["value"]


class Firefox(Engine):
    """Firefox through WebDriver BiDi."""

    def __init__(self, connection: ClientConnection) -> None:
        self._connection = connection
        self._number = 0
        self._send("session.new", {"capabilities": {}})
        self._context = self._send("browsingContext.getTree", {})["contexts"][0]["context"]

    def open(self, url: str) -> None:
        self._send("browsingContext.navigate", {"context": self._context, "url": url, "wait": "complete"})

    def run(self, script: str) -> Any:
        # As JSON, so that no other form of values needs to be read.
        wrapped = f"Promise.resolve({script}).then((value) => JSON.stringify(value ?? null))"
        target = {"context": self._context}
        result = self._send("script.evaluate", {"expression": wrapped, "target": target, "awaitPromise": True})
        assert result["type"] == "success", result
        return json.loads(result["result"]["value"])

    def act(self, actions: list[dict[str, Any]]) -> None:
        self._send("input.performActions", {"context": self._context, "actions": actions})

    def _send(self, method: str, params: dict[str, Any]) -> Any:
        self._number += 1
        self._connection.send(json.dumps({"id": self._number, "method": method, "params": params}))
        while True:
            answer = json.loads(self._connection.recv(timeout=START_SECONDS))
            if answer.get("id") == self._number:
                assert answer["type"] == "success", answer
                return answer["result"]


@contextmanager
def firefox(profile: Path, **preferences: object) -> Iterator[Engine]:
    """Start Firefox without a window, with preferences of a separate profile."""
    profile.mkdir()
    lines = [f"user_pref({json.dumps(name)}, {json.dumps(value)});" for name, value in preferences.items()]
    (profile / "user.js").write_text("\n".join(lines))
    port = _free_port()
    command = [
        "firefox-esr",
        "--headless",
        "--no-remote",
        "--profile",
        str(profile),
        "--remote-debugging-port",
        str(port),
    ]
    environment = os.environ | {"HOME": str(profile), "MOZ_HEADLESS_WIDTH": "1280", "MOZ_HEADLESS_HEIGHT": "900"}
    with _running(command, environment):
        connection = until(lambda: _connected(f"ws://127.0.0.1:{port}/session"), timeout=START_SECONDS)
        yield Firefox(connection)
        connection.close()


@contextmanager
def webkit(home: Path) -> Iterator[Engine]:
    """Start WebKitGTK's small browser on a virtual screen."""
    home.mkdir()
    port = _free_port()
    command = ["xvfb-run", "-a", "-s", "-screen 0 1280x1000x24", "WebKitWebDriver", f"--port={port}"]
    environment = os.environ | {
        "HOME": str(home),
        "GDK_BACKEND": "x11",
        "WEBKIT_DISABLE_SANDBOX_THIS_IS_DANGEROUS": "1",
    }
    with _running(command, environment):
        engine = WebKit(port)
        yield engine
        engine.close()


def missing() -> list[str]:
    """Return the programs that the tests need and the machine lacks."""
    return [name for name in ("firefox-esr", "WebKitWebDriver", "xvfb-run") if shutil.which(name) is None]


@contextmanager
def _running(command: list[str], environment: dict[str, str]) -> Iterator[None]:
    process = subprocess.Popen(
        command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
    )
    try:
        yield
    finally:
        os.killpg(process.pid, 15)
        process.wait(START_SECONDS)


def _connected(url: str) -> ClientConnection | None:
    try:
        return connect(url, max_size=None, legacy=True)
    except (OSError, InvalidHandshake):
        return None


def _free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port: int = found.getsockname()[1]
        return port
