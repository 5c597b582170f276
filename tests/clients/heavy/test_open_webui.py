"""Open WebUI, with Ebb as its only provider."""

from pathlib import Path

import aiohttp

from bench.open_webui import VERSION, install_open_webui, open_webui
from tests.clients.heavy.served import TORCH_CPU_INDEX, Served
from tests.conftest import default_cache_dir
from tests.integration.compatibility import Pinned, row

PROGRAM = Pinned("open-webui", VERSION)


@row(PROGRAM, "open-webui serve", "lists the model and streams an answer, as its page asks for them; "
     "`OPENAI_API_BASE_URL` and `OPENAI_API_KEY`")  # fmt: skip
async def test_open_webui_lists_model_and_streams(ebb: Served, tmp_path: Path) -> None:
    program = install_open_webui(default_cache_dir(), TORCH_CPU_INDEX)
    with open_webui(program, tmp_path, ebb.url, ebb.key) as url:
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
