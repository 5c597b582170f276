"""`python completions_server.py PORT [FAIL_FILE]`: a text completion server without a model.

Each answer has exactly `max_tokens` words. If FAIL_FILE exists, the next stream removes the file and breaks off.
"""

import asyncio
import json
import sys
from pathlib import Path

from aiohttp import web


def _took(file: Path) -> bool:
    there = file.exists()
    file.unlink(missing_ok=True)
    return there


def app(fail: Path | None) -> web.Application:
    """Build an application that streams one event per token, with the usage in the last one.

    fail: FAIL_FILE; None never breaks off.
    """

    async def complete(request: web.Request) -> web.StreamResponse:
        body = await request.json()
        response = web.StreamResponse()
        await response.prepare(request)
        tokens = int(body["max_tokens"])
        for number in range(1, tokens + 1):
            chunk: dict[str, object] = {"choices": [{"text": " sea"}]}
            if number == tokens:
                if fail is not None and _took(fail):
                    return response
                usage = {"prompt_tokens": len(body["prompt"]), "completion_tokens": tokens}
                chunk = {"choices": [{"text": " sea", "finish_reason": "length"}], "usage": usage}
            await response.write(f"data: {json.dumps(chunk)}\n\n".encode())
            # Benchmarks divide by the time per token, so this time must not be zero.
            await asyncio.sleep(0.001)
        await response.write(b"data: [DONE]\n\n")
        return response

    async def models(request: web.Request) -> web.Response:
        return web.json_response({"data": [{"id": "the-model"}]})

    async def health(request: web.Request) -> web.Response:
        return web.Response()

    made = web.Application()
    made.router.add_get("/health", health)
    made.router.add_get("/v1/models", models)
    made.router.add_post("/v1/completions", complete)
    return made


if __name__ == "__main__":
    port, *rest = sys.argv[1:]
    web.run_app(app(Path(rest[0]) if rest else None), host="127.0.0.1", port=int(port), print=None)
