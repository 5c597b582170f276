"""Examples of docs/reference/api, each run as it is pasted, against a real server."""

import asyncio
import re
import sys
from asyncio.subprocess import PIPE
from pathlib import Path
from typing import Final

from engine.wiring.build import build_engine
from tests.integration.api_server import running_server
from tests.integration.engine_rig import engine_config
from tests.sizes import TOOL

DOCS: Final = Path(__file__).parents[4] / "docs" / "reference" / "api"
URL, MODEL = "http://127.0.0.1:8000", "smollm2-135m-instruct"
EXAMPLES: Final = [
    example
    for page in sorted(DOCS.glob("*.md"))
    for example in re.findall(r"^```(python|sh)\n(.*?)^```", page.read_text(encoding="utf-8"), flags=re.S | re.M)
    if MODEL in example[1]
]


@TOOL
async def test_examples_run_as_they_are_pasted(shallow_model: Path, tmp_path: Path) -> None:
    assert len(EXAMPLES) >= 10
    config = engine_config(shallow_model, tmp_path / "state", redis_url="off").with_fields(name=MODEL)
    engine = await asyncio.to_thread(build_engine, config, lambda _: None)
    async with running_server(tmp_path, engine) as server:
        for kind, example in EXAMPLES:
            command = [sys.executable, "-c"] if kind == "python" else ["bash", "-euo", "pipefail", "-c"]
            process = await asyncio.create_subprocess_exec(
                *command, example.replace(URL, server.url), stdout=PIPE, stderr=PIPE, cwd=tmp_path
            )
            said, failed = await process.communicate()
            assert process.returncode == 0, (example, failed.decode())
            assert b'"error"' not in said, (example, said.decode())
            assert said or "print" not in example, example
