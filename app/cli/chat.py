"""`ebb chat`: a conversation with the running server, in the terminal."""

import asyncio
import contextlib
import sys
from functools import partial
from typing import Any

from app.cli.chat_answer import AnswerView
from app.client.chat_client import ChatClient, NoServerError, RefusedError
from app.config.settings import Settings
from app.transport.tls import own_certificate
from cache_tiers.registry import all_tiers

POLL_SECONDS = 0.5
THOUGHTS = "/thoughts"
"""Command that hides reasoning or shows it again."""


def chat(settings: Settings, api_key: str | None = None) -> int:
    """Read messages from standard input until its end (Ctrl-D), and print the answers as they arrive.

    Returns the exit status.
    """
    with asyncio.Runner() as runner:
        client = runner.run(_open(settings, api_key))
        try:
            return _converse(runner, client)
        except NoServerError as error:
            print(f"ebb: {error.message}\nStart one in another terminal: ebb serve", file=sys.stderr)
            return 1
        finally:
            runner.run(client.__aexit__())


async def _open(settings: Settings, api_key: str | None) -> ChatClient:
    # Must run inside the loop: a session belongs to the loop that it is made in.
    return ChatClient(settings.client_url, api_key, own_certificate(settings))


def _converse(runner: asyncio.Runner, client: ChatClient) -> int:
    model = runner.run(_ready(client))
    if model is None:
        return 1
    conversation_id = runner.run(client.create())
    # A program that reads the output wants only the answers.
    shows_thoughts = sys.stdout.isatty()
    print(f"{model['name']} at {client.url}. Ctrl-C stops an answer, Ctrl-D quits.")
    if model["thinking"]:
        print(f"The model thinks before it answers: {THOUGHTS} hides or shows its thoughts.")
    while True:
        try:
            content = input("\n> ").strip()
        except KeyboardInterrupt:
            continue
        except EOFError:
            print()
            return 0
        if not content:
            continue
        if content == THOUGHTS:
            shows_thoughts = not shows_thoughts
            print(f"Thoughts are {'shown' if shows_thoughts else 'hidden'}.")
            continue
        try:
            runner.run(_answer(client, conversation_id, content, shows_thoughts=shows_thoughts))
        except KeyboardInterrupt:
            print("\n(stopped)")
        except RefusedError as error:
            print(f"ebb: {error.message}", file=sys.stderr)


async def _ready(client: ChatClient) -> dict[str, Any] | None:
    """Wait until the server can answer, and return the model's entry of /health.

    Returns None if the server reports that it cannot serve. Raises RefusedError if it requires another key.
    """
    said = None
    while True:
        health = await client.health()
        if health["version"] is None:
            raise RefusedError(
                "the server requires a valid API key: pass --api-key KEY, or --api-key @FILE to read it from a file"
            )
        if health["status"] == "ok":
            return dict(health["model"])
        if health["status"] != "starting":
            print(f"ebb: the server at {client.url} is {health['status']}: {health.get('starting')}", file=sys.stderr)
            return None
        if health["starting"] != said:
            said = health["starting"]
            print(f"The server is starting: {said}", file=sys.stderr)
        await asyncio.sleep(POLL_SECONDS)


async def _answer(client: ChatClient, conversation_id: str, content: str, *, shows_thoughts: bool) -> None:
    view = AnswerView(partial(print, end="", flush=True), shows_thoughts=shows_thoughts)
    async with contextlib.aclosing(client.send(conversation_id, content)) as events:
        with contextlib.closing(view):
            async for event in events:
                match event.kind:
                    case "delta":
                        if reasoning := event.data.get("reasoning"):
                            view.thought(reasoning)
                        if text := event.data["text"]:
                            view.said(text)
                    case "done":
                        view.close()
                        print(f"\n{receipt(event.data['message'])}")
                    case "error":
                        view.close()
                        print(f"\nebb: {event.data['error']['message']}", file=sys.stderr)


def receipt(message: dict[str, Any]) -> str:
    """Return one line on where the tokens of the prompt came from, and how fast the answer was."""
    usage = message.get("usage")
    if usage is None:
        return ""
    kv = usage["kv"]
    reused = ", ".join(f"{kv[tier.id]:,} from {tier.name}" for tier in all_tiers() if kv.get(tier.id))
    parts = [
        f"{usage['prompt_tokens']:,} prompt tokens: {reused + ', ' if reused else ''}{kv['computed']:,} computed",
        f"first token after {usage['ttft_ms']:,.0f} ms",
    ]
    if usage["tokens_per_second"] is not None:
        parts.append(f"{usage['tokens_per_second']:.0f} tokens/s")
    if message["status"] == "incomplete":
        parts.append("cut at the length limit")
    return f"[{'; '.join(parts)}]"
