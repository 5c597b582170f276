"""`ebb bench`: speed of a running server, as its clients see it."""

import asyncio
import json
import secrets
import sys
from collections.abc import AsyncIterator, Awaitable, Sequence
from dataclasses import dataclass
from typing import TextIO

import aiohttp
import uvloop

from app.cli.bench_plan import BenchPlan
from app.cli.bench_result import HEAD, Level
from app.client.chat_client import NoServerError
from app.config.options import SettingsError
from app.config.settings import Settings
from app.load.answer import Answer, RequestFailedError, StreamBrokenError
from app.load.client import Generation, LoadClient
from app.load.words import plain_words
from app.transport.tls import own_certificate
from app.version import VERSION

SAMPLE_WORDS = (16, 128)
"""Lengths of two prompts whose tokens the server counts, to derive the tokens per word and those of the template."""


def bench(settings: Settings, plan: BenchPlan) -> int:
    """Measure, print the result and return the exit status. Raise NoServerError, SettingsError."""
    if plan.json is not None and not plan.json.parent.is_dir():
        raise SettingsError(f"--json {plan.json}: the folder does not exist", param="json")
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        try:
            result = runner.run(_bench(settings, plan))
        except (RequestFailedError, StreamBrokenError) as error:
            print(f"ebb: {error}", file=sys.stderr)
            return 1
    if plan.json is not None:
        plan.json.write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")
    return 0


async def _bench(settings: Settings, plan: BenchPlan) -> dict[str, object]:
    url = plan.url or settings.client_url
    tls = None if plan.url else own_certificate(settings)
    async with LoadClient(url, api_key=plan.api_key, concurrency=max(plan.streams), tls=tls) as client:
        try:
            model = await client.model()
        except (aiohttp.ClientError, TimeoutError) as error:
            raise NoServerError(f"no server answers at {url} ({error or type(error).__name__})") from error
        words = await _words(client, plan.prompt_tokens)
        print(f"{model} at {url}: prompts of {plan.prompt_tokens} tokens, answers of {plan.output_tokens}")
        print("\n".join(("", *HEAD)), flush=True)
        levels = []
        async for level in _measure(client, plan, words):
            print(level.row(), flush=True)
            levels.append(level.as_json())
    return {
        "version": VERSION,
        "url": url,
        "model": model,
        "prompt_tokens": plan.prompt_tokens,
        "output_tokens": plan.output_tokens,
        "levels": levels,
    }


async def _words(client: LoadClient, tokens: int) -> int:
    """Return how many words make a prompt of `tokens`, by the server's count for two prompts.

    The two requests also warm up the server.
    """
    counts = []
    for number in SAMPLE_WORDS:
        answer = await client.chat(_prompt(number, secrets.token_hex(4)), Generation(1))
        counts.append(answer.prompt_tokens)
    each = max((counts[1] - counts[0]) / (SAMPLE_WORDS[1] - SAMPLE_WORDS[0]), 0.1)
    around = counts[0] - SAMPLE_WORDS[0] * each
    return max(1, round((tokens - around) / each))


async def _measure(client: LoadClient, plan: BenchPlan, words: int) -> AsyncIterator[Level]:
    progress = _Progress(sys.stderr)
    # No two runs send the same prompts: a tier may still hold those of an earlier run.
    run = secrets.token_hex(4)
    for streams in plan.streams:
        rounds = []
        for number in range(plan.rounds):
            prompts = [_prompt(words, f"{run}/{streams}/{number}/{stream}") for stream in range(streams)]
            where = f"{streams} streams, round {number + 1} of {plan.rounds}"
            # The first pass takes the first token of new prompts. The second takes whole answers to the same prompts,
            # now cached, so that all decode at the same time. With new prompts, which are computed one after another,
            # they would not.
            new = await _ask(progress, f"{where}: new prompts", client, prompts, 1)
            again = await _ask(progress, f"{where}: answers", client, prompts, plan.output_tokens)
            rounds.append((new, again))
        progress.clear()
        yield Level.of(streams, rounds)


async def _ask(
    progress: "_Progress", label: str, client: LoadClient, prompts: Sequence[list[dict[str, str]]], tokens: int
) -> list[Answer]:
    return await progress.through(label, [client.chat(prompt, Generation(tokens)) for prompt in prompts])


def _prompt(words: int, seed: str) -> list[dict[str, str]]:
    return [{"role": "user", "content": " ".join(plain_words(words, seed))}]


@dataclass(frozen=True, slots=True)
class _Progress:
    """A progress line that is overwritten, shown only on a terminal."""

    stream: TextIO

    async def through(self, label: str, answers: Sequence[Awaitable[Answer]]) -> list[Answer]:
        """Await all answers, show how many have arrived, and return them in order."""
        come = 0

        async def counted(answer: Awaitable[Answer]) -> Answer:
            nonlocal come
            result = await answer
            come += 1
            self._show(f"{label}: {come} of {len(answers)} answers")
            return result

        self._show(f"{label}: 0 of {len(answers)} answers")
        tasks = [asyncio.ensure_future(counted(answer)) for answer in answers]
        try:
            return await asyncio.gather(*tasks)
        finally:
            for task in tasks:
                task.cancel()

    def clear(self) -> None:
        """Erase the progress line."""
        self._show("")

    def _show(self, text: str) -> None:
        if self.stream.isatty():
            self.stream.write(f"\r\x1b[K{text}")
            self.stream.flush()
