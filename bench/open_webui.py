"""Open WebUI as a child process, with an OpenAI-compatible server as its only provider."""

import os
import subprocess
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from bench.agents.install import install_python_program
from bench.server import ServerFailedError, free_port

VERSION: Final = "0.12.4"
START_SECONDS: Final = 300.0
STOP_SECONDS: Final = 60.0
POLL_SECONDS: Final = 0.1
ITS_TASKS: Final = ("TITLE", "TAGS", "FOLLOW_UP", "AUTOCOMPLETE")
"""Texts that Open WebUI asks the model for besides the answer."""


def install_open_webui(cache_dir: Path, torch_cpu_index: str) -> Path:
    """Install Open WebUI below `cache_dir` unless it is there, and return its program. Raise PreparationError."""
    pins = [f"open-webui=={VERSION}"]
    return install_python_program(cache_dir, pins, "open-webui", "(3 GB)", torch_cpu_index)


@contextmanager
def open_webui(program: Path, folder: Path, provider: str, key: str) -> Iterator[str]:
    """Run Open WebUI without accounts, and yield its URL when it is ready.

    folder: its home, for all of its files.
    provider: URL of the server whose models it offers.
    key: its API key there.

    Raise ServerFailedError.
    """
    port = free_port()
    command = (program, "serve", "--host", "127.0.0.1", "--port", str(port))
    log = folder / "open-webui.log"
    with log.open("wb") as output:
        process = subprocess.Popen(
            command,
            cwd=folder,
            env=_variables(folder, provider, key),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
        )
    try:
        _wait_ready(process, port, log)
        yield f"http://127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait(STOP_SECONDS)


def _variables(folder: Path, provider: str, key: str) -> dict[str, str]:
    return {
        "HOME": str(folder),
        "PATH": os.environ["PATH"],
        "DATA_DIR": str(folder / "data"),
        "OPENAI_API_BASE_URL": f"{provider}/v1",
        "OPENAI_API_KEY": key,
        "ENABLE_OLLAMA_API": "False",
        "WEBUI_AUTH": "False",
        "WEBUI_SECRET_KEY": "none",
        "OFFLINE_MODE": "True",
        # Without this, the server loads a model for embeddings from a hub.
        "RAG_EMBEDDING_ENGINE": "openai",
        **{f"ENABLE_{task}_GENERATION": "False" for task in ITS_TASKS},
    }


def _wait_ready(process: subprocess.Popen[bytes], port: int, log: Path) -> None:
    deadline = time.monotonic() + START_SECONDS
    while not _is_ready(port):
        if process.poll() is not None or time.monotonic() > deadline:
            raise ServerFailedError(f"Open WebUI is not ready:\n{log.read_text()[-8000:]}")
        time.sleep(POLL_SECONDS)


def _is_ready(port: int) -> bool:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=5):
            return True
    except OSError:
        return False
