"""`ebb serve` as a process of its own, as a person starts it."""

import os
import re
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.waiting import until

START_SECONDS = 120.0
STOP_SECONDS = 30.0
SERVE = (sys.executable, "-c", "from app.cli import main; raise SystemExit(main())", "serve")
ADDRESS = re.compile(r"(http://127\.0\.0\.1:\d+) answers")


@contextmanager
def ebb_serve(state_dir: Path, *flags: str) -> Iterator[str]:
    """The address of a server that is ready, with its chats in `state_dir`; it is stopped at the end."""
    log = state_dir / "serve.log"
    # No title changes while a test looks at it.
    titles = ("--chat-titles", "first-words")
    command = [*SERVE, "--port", "0", "--state-dir", str(state_dir / "state"), *titles, *flags]
    with log.open("wb") as output:
        process = subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT, env=_environment())
    try:
        url = until(lambda: _address(process, log), timeout=START_SECONDS)
        until(lambda: _is_ready(process, log, url), timeout=START_SECONDS)
        yield url
    finally:
        process.terminate()
        try:
            process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            raise


def _environment() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if not name.startswith("EBB_")}


def _address(process: "subprocess.Popen[bytes]", log: Path) -> str | None:
    _check_alive(process, log)
    found = ADDRESS.search(log.read_text())
    return found.group(1) if found else None


def _is_ready(process: "subprocess.Popen[bytes]", log: Path, url: str) -> bool:
    _check_alive(process, log)
    try:
        with urllib.request.urlopen(f"{url}/ready", timeout=5):
            return True
    except OSError:
        return False


def _check_alive(process: "subprocess.Popen[bytes]", log: Path) -> None:
    assert process.poll() is None, f"ebb serve ended:\n{log.read_text()}"
