"""Open WebUI, with Ebb as its only provider."""

import os
import subprocess
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import aiohttp

from bench.server import free_port
from tests.clients.heavy.served import Served, client_program
from tests.integration.compatibility import Pinned, row
from tests.waiting import until

PROGRAM = Pinned("open-webui", "0.12.4")
START_SECONDS = 300.0


def is_ready(port: int) -> bool:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=5):
            return True
    except OSError:
        return False


@contextmanager
def open_webui(folder: Path, ebb: Served) -> Iterator[str]:
    """Run Open WebUI without accounts of its own, and yield its URL when it is ready."""
    port = free_port()
    variables = {
        "HOME": str(folder),
        "PATH": os.environ["PATH"],
        "DATA_DIR": str(folder / "data"),
        "OPENAI_API_BASE_URL": f"{ebb.url}/v1",
        "OPENAI_API_KEY": ebb.key,
        "ENABLE_OLLAMA_API": "False",
        "WEBUI_AUTH": "False",
        "WEBUI_SECRET_KEY": "none",
        "OFFLINE_MODE": "True",
        # Without this, the server loads a model for embeddings from a hub.
        "RAG_EMBEDDING_ENGINE": "openai",
    }
    command: list[str | Path] = [
        client_program([f"open-webui=={PROGRAM.version}"], "open-webui", "(3 GB)", with_torch=True),
        "serve",
    ]
    log = folder / "open-webui.log"
    with log.open("wb") as output:
        process = subprocess.Popen(
            [*command, "--host", "127.0.0.1", "--port", str(port)],
            cwd=folder,
            env=variables,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
        )
    try:
        until(lambda: process.poll() is not None or is_ready(port), timeout=START_SECONDS)
        assert process.poll() is None, f"Open WebUI ended:\n{log.read_text()[-8000:]}"
        yield f"http://127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait(60)


@row(PROGRAM, "open-webui serve", "lists the model and streams an answer, as its page asks for them; "
     "`OPENAI_API_BASE_URL` and `OPENAI_API_KEY`")  # fmt: skip
async def test_open_webui_lists_model_and_streams(ebb: Served, tmp_path: Path) -> None:
    with open_webui(tmp_path, ebb) as url:
        async with aiohttp.ClientSession(url) as session:
            async with session.post("/api/v1/auths/signin", json={"email": "", "password": ""}) as response:
                token = (await response.json())["token"]
            headers = {"Authorization": f"Bearer {token}"}
            async with session.get("/api/models", headers=headers) as response:
                assert [model["id"] for model in (await response.json())["data"]] == [ebb.model]
            question = [{"role": "user", "content": "Why is the sea salty?"}]
            body = {"model": ebb.model, "messages": question, "stream": True}
            async with session.post("/api/chat/completions", json=body, headers=headers) as response:
                text = (await response.read()).decode()
    assert response.status == 200
    assert '"delta"' in text
    assert text.rstrip().endswith("data: [DONE]")
