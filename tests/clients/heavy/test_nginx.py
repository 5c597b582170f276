"""nginx as a reverse proxy, with the configuration that docs/guides/keys.md shows."""

import re
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import aiohttp
import pytest
from openai import AuthenticationError, OpenAI

from bench.server import free_port
from tests.clients.heavy.served import Served
from tests.integration.compatibility import Pinned, row
from tests.waiting import until

PROGRAM = Pinned("nginx", "1.22.1", "Debian 12")
KEYS = Path(__file__).parents[3] / "docs" / "guides" / "keys.md"
DOCUMENTED_UPSTREAM = "http://127.0.0.1:8000"
CONFIGURATION = """\
daemon off;
worker_processes 1;
pid {folder}/nginx.pid;
error_log {folder}/error.log;
events {{}}
http {{
    access_log off;
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
    server {{
        listen 127.0.0.1:{port};
        {location}
    }}
}}
"""
TRIES = 5


def documented_location() -> str:
    """Return the `location` of the documented configuration."""
    found = re.search(r"```nginx\n(.*?)```", KEYS.read_text(), re.DOTALL)
    assert found is not None
    return found[1]


@contextmanager
def nginx(folder: Path, upstream: str) -> Iterator[str]:
    """Run nginx in front of `upstream` and yield its URL."""
    program = shutil.which("nginx", path="/usr/sbin:/usr/bin:/usr/local/sbin:/usr/local/bin")
    assert program is not None, "nginx is not installed (Debian, Ubuntu: apt-get install nginx-light)"
    port = free_port()
    location = documented_location().replace(DOCUMENTED_UPSTREAM, upstream)
    (folder / "nginx.conf").write_text(CONFIGURATION.format(folder=folder, port=port, location=location))
    process = subprocess.Popen([program, "-p", folder, "-e", folder / "error.log", "-c", folder / "nginx.conf"])
    try:
        until(lambda: (folder / "nginx.pid").exists())
        yield f"http://127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait(20)


@row(PROGRAM, "location / { proxy_pass ...; }", "clients work through it unchanged, with their "
     "keys; each piece of a stream is passed on at once")  # fmt: skip
async def test_nginx_passes_keys_and_pieces(ebb: Served, tmp_path: Path) -> None:
    with nginx(tmp_path, ebb.url) as url:
        question = [{"role": "user", "content": "Why is the sea salty?"}]
        body = {"model": ebb.model, "messages": question, "max_tokens": 12, "ignore_eos": True, "stream": True}
        async with aiohttp.ClientSession(url, headers={"Authorization": f"Bearer {ebb.key}"}) as session:
            # The stream is smaller than one buffer of the proxy, which would pass on the beginning and then the rest.
            assert max([await pieces_of_stream(session, body) for _ in range(TRIES)]) > 2
        with OpenAI(base_url=f"{url}/v1", api_key="wrong", max_retries=0) as client, pytest.raises(AuthenticationError):
            client.models.list()


async def pieces_of_stream(session: aiohttp.ClientSession, body: dict[str, object]) -> int:
    """Stream an answer and return the number of pieces in which it arrived."""
    async with session.post("/v1/chat/completions", json=body) as response:
        pieces = [piece async for piece in response.content.iter_any()]
    assert response.status == 200
    assert b"".join(pieces).endswith(b"data: [DONE]\n\n")
    return len(pieces)
