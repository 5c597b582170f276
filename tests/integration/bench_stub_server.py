"""A stub of `ebb serve` with the same flags and API, but no model. A word counts as a token.

The tiers are simplified but exact: "device" holds the last two prompts with their answers, "cpu" those of this process,
and "disk" those of the state directory. Each token takes a millisecond, so a benchmark against the stub exercises the
sequence of events and does not measure performance.
"""

import argparse
import asyncio
import hashlib
import json
import os
from pathlib import Path

from aiohttp import web


def _common(a: list[str], b: list[str]) -> int:
    return next((i for i, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), min(len(a), len(b)))


class Stub:
    """Request handlers and the words that each tier holds."""

    def __init__(self, flags: argparse.Namespace) -> None:
        self._file = Path(flags.state_dir) / "kv.jsonl"
        self._reuse = not flags.no_prefix_cache
        self._disk_on = flags.disk_kv_size != "0"
        self._device: list[list[str]] = []
        self._cpu: list[list[str]] = []
        lines = self._file.read_text().splitlines() if self._file.exists() else []
        self._stored: list[list[str]] = [json.loads(line) for line in lines]

    def receipt(self, words: list[str]) -> dict[str, float]:
        tiers = {"device": self._device, "cpu": self._cpu, "redis": [], "disk": self._stored}
        held, counts = 0, dict.fromkeys(tiers, 0)
        for tier, prompts in tiers.items():
            best = min(max((_common(words, old) for old in prompts), default=0), len(words) - 1)
            if self._reuse and best > held:
                counts[tier], held = best - held, best
        return {**counts, "computed": len(words) - held, "restore_ms": 1.0}

    def remember(self, words: list[str]) -> None:
        self._device = [*self._device[-1:], words]
        self._cpu.append(words)
        if self._disk_on:
            with self._file.open("a") as disk:
                disk.write(json.dumps(words) + "\n")

    async def ready(self, request: web.Request) -> web.Response:
        return web.json_response({"status": "ok", "pid": os.getpid()})

    async def models(self, request: web.Request) -> web.Response:
        return web.json_response({"data": [{"id": "stub"}]})

    async def metrics(self, request: web.Request) -> web.Response:
        return web.Response(text="# TYPE ebb_redis_write_lag_seconds gauge\nebb_redis_write_lag_seconds 0.0\n")

    async def chat(self, request: web.Request) -> web.StreamResponse:
        body = await request.json()
        words = " ".join(f"<{m['role']}> {m['content']}" for m in body["messages"]).split()
        kv = self.receipt(words)
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await response.prepare(request)
        digest = hashlib.sha256(" ".join(words).encode()).hexdigest()
        said = [f"{digest[i % 60 : i % 60 + 4]} " for i in range(body["max_tokens"])]
        for piece in said:
            await self._send(response, {"choices": [{"delta": {"content": piece}, "finish_reason": None}]})
            await asyncio.sleep(0.001)
        await self._send(response, {"choices": [{"delta": {}, "finish_reason": "length"}]})
        cached = {"cached_tokens": len(words) - kv["computed"]}
        counts = {"prompt_tokens": len(words), "completion_tokens": len(said), "prompt_tokens_details": cached}
        await self._send(response, {"choices": [], "usage": {**counts, "kv": kv}})
        self.remember([*words, "<assistant>", *"".join(said).split()])
        await response.write(b"data: [DONE]\n\n")
        return response

    async def _send(self, response: web.StreamResponse, chunk: dict[str, object]) -> None:
        await response.write(f"data: {json.dumps(chunk)}\n\n".encode())


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--host")
    parser.add_argument("--port", type=int)
    parser.add_argument("--state-dir")
    parser.add_argument("--disk-kv-size", default="1GiB")
    parser.add_argument("--no-prefix-cache", action="store_true")
    flags, _ = parser.parse_known_args()
    stub = Stub(flags)
    app = web.Application(client_max_size=1 << 24)
    app.router.add_get("/ready", stub.ready)
    app.router.add_get("/v1/models", stub.models)
    app.router.add_get("/metrics", stub.metrics)
    app.router.add_post("/v1/chat/completions", stub.chat)
    web.run_app(app, host=flags.host, port=flags.port, print=None)


if __name__ == "__main__":
    main()
