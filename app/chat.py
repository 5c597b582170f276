"""`ebb chat`: a conversation in the terminal with the server that runs."""

import asyncio
import contextlib
import sys
import unicodedata
from typing import Any

from app.chat_client import ChatClient, NoServerError, RefusedError
from app.config import Settings

POLL_SECONDS = 0.5


def chat(settings: Settings, api_key: str | None = None) -> int:
    """Read messages from standard input until its end (Ctrl-D), print the answers as they come. Exit status."""
    with asyncio.Runner() as runner:
        client = runner.run(_open(settings.client_url, api_key))
        try:
            return _converse(runner, client)
        except NoServerError as error:
            print(f"ebb: {error.message}\nStart one in another terminal: ebb serve", file=sys.stderr)
            return 1
        finally:
            runner.run(client.__aexit__())


async def _open(url: str, api_key: str | None) -> ChatClient:
    # Inside the loop: a session belongs to the loop that it was made in.
    return ChatClient(url, api_key)


def _converse(runner: asyncio.Runner, client: ChatClient) -> int:
    model = runner.run(_ready(client))
    if model is None:
        return 1
    conversation_id = runner.run(client.create())
    print(f"{model} at {client.url}. Ctrl-C stops an answer, Ctrl-D leaves.")
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
        try:
            runner.run(_answer(client, conversation_id, content))
        except KeyboardInterrupt:
            print("\n(stopped)")
        except RefusedError as error:
            print(f"ebb: {error.message}", file=sys.stderr)


async def _ready(client: ChatClient) -> str | None:
    """The model's name once the server can answer; None if it says that it never will. Raises RefusedError."""
    said = None
    while True:
        health = await client.health()
        if health["version"] is None:
            raise RefusedError("the server demands a key that opens it: --api-key KEY, or @FILE that holds it")
        if health["status"] == "ok":
            return str(health["model"]["name"])
        if health["status"] != "starting":
            print(f"ebb: the server at {client.url} is {health['status']}: {health.get('starting')}", file=sys.stderr)
            return None
        if health["starting"] != said:
            said = health["starting"]
            print(f"The server is starting: {said}", file=sys.stderr)
        await asyncio.sleep(POLL_SECONDS)


async def _answer(client: ChatClient, conversation_id: str, content: str) -> None:
    async with contextlib.aclosing(client.send(conversation_id, content)) as events:
        async for event in events:
            match event.kind:
                case "delta":
                    print(printable(event.data["text"]), end="", flush=True)
                case "done":
                    print(f"\n{receipt(event.data['message'])}")
                case "error":
                    print(f"\nebb: {event.data['error']['message']}", file=sys.stderr)


def printable(text: str) -> str:
    """`text` without the control characters with which an answer could take over the terminal."""
    return "".join(char for char in text if char in "\n\t" or unicodedata.category(char) != "Cc")


def receipt(message: dict[str, Any]) -> str:
    """One line about where the tokens of the prompt came from, and how fast the answer was."""
    usage = message.get("usage")
    if usage is None:
        return ""
    kv = usage["kv"]
    reused = ", ".join(
        f"{kv[tier]:,} from {name}"
        for tier, name in (("device", "the device"), ("cpu", "CPU memory"), ("redis", "Redis"))
        if kv[tier]
    )
    parts = [
        f"{usage['prompt_tokens']:,} prompt tokens: {reused + ', ' if reused else ''}{kv['computed']:,} computed",
        f"first token after {usage['ttft_ms']:,.0f} ms",
    ]
    if usage["tokens_per_second"] is not None:
        parts.append(f"{usage['tokens_per_second']:.0f} tokens/s")
    if message["status"] == "incomplete":
        parts.append("cut at the length limit")
    return f"[{'; '.join(parts)}]"
