"""`ebb chat`: a conversation with the running server in the terminal, or one question from arguments or a pipe."""

import asyncio
import contextlib
import sys
from functools import partial
from typing import Any, Final

from app.cli.chat_answer import AnswerView, printable
from app.cli.chat_plan import ChatPlan
from app.cli.running_server import print_no_server
from app.client.chat_client import ChatClient, NoServerError, RefusedError
from app.config.settings import Settings
from app.transport.tls import own_certificate
from cache_tiers.registry import all_tiers

POLL_SECONDS = 0.5
SHOWN_CHARACTERS: Final = 400
"""Characters of the end of an earlier answer that are shown when its chat continues."""

THOUGHTS = "/thoughts"
HELP = "/help"
COMMANDS: Final = f"""\
{HELP}      show these lines
{THOUGHTS}  hide or show the thoughts of a model that thinks
Ctrl-C     stop an answer
Ctrl-D     quit; `ebb chat --continue` comes back to this chat, which the page has too"""


def chat(settings: Settings, plan: ChatPlan) -> int:
    """Ask the question of the plan or of a pipe, or converse until the end of the input (Ctrl-D).

    Returns the exit status.
    """
    with asyncio.Runner() as runner:
        client = runner.run(_open(settings, plan.api_key))
        try:
            if plan.question is None and sys.stdin.isatty() and sys.stdout.isatty():
                return _converse(runner, client, plan)
            return _ask_once(runner, client, plan)
        except NoServerError as error:
            print_no_server(error)
            return 1
        finally:
            runner.run(client.__aexit__())


async def _open(settings: Settings, api_key: str | None) -> ChatClient:
    # Must run inside the loop: a session belongs to the loop that it is made in.
    return ChatClient(settings.client_url, api_key, own_certificate(settings))


def _ask_once(runner: asyncio.Runner, client: ChatClient, plan: ChatPlan) -> int:
    """Ask one question and print nothing but the answer, for programs."""
    piped = "" if sys.stdin.isatty() and plan.question is not None else sys.stdin.read().strip()
    content = "\n\n".join(part for part in (plan.question, piped) if part)
    if not content:
        print('ebb: there is no question: ebb chat "QUESTION", or send one through a pipe', file=sys.stderr)
        return 2
    if runner.run(_ready(client)) is None:
        return 1
    conversation_id, _ = runner.run(_begun(client, plan))
    is_complete = runner.run(_answer(client, conversation_id, content, shows_thoughts=False, shows_receipt=False))
    return 0 if is_complete else 1


def _converse(runner: asyncio.Runner, client: ChatClient, plan: ChatPlan) -> int:
    model = runner.run(_ready(client))
    if model is None:
        return 1
    conversation_id, earlier = runner.run(_begun(client, plan))
    print(f"{model['name']} at {client.url}. {HELP} lists commands, Ctrl-C stops an answer, Ctrl-D quits.")
    if earlier is not None:
        print(f"Continuing “{printable(earlier['title'] or 'New chat')}”:\n{_end_of(earlier)}")
    elif plan.resumes:
        print("There is no earlier chat; this is a new one.")
    if model["thinking"]:
        print(f"The model thinks before it answers: {THOUGHTS} hides or shows its thoughts.")
    shows_thoughts = True
    while True:
        try:
            content = input("\n> ").strip()
        except KeyboardInterrupt:
            continue
        except EOFError:
            print()
            return 0
        if content == HELP:
            print(COMMANDS)
        elif content == THOUGHTS:
            shows_thoughts = not shows_thoughts
            print(f"Thoughts are {'shown' if shows_thoughts else 'hidden'}.")
        elif content:
            try:
                runner.run(_answer(client, conversation_id, content, shows_thoughts=shows_thoughts, shows_receipt=True))
            except KeyboardInterrupt:
                print("\n(stopped)")
            except RefusedError as error:
                print(f"ebb: {error.message}", file=sys.stderr)


async def _begun(client: ChatClient, plan: ChatPlan) -> tuple[str, dict[str, Any] | None]:
    """Return the id of the conversation to ask in, and the earlier conversation if that one continues."""
    earlier = await client.newest() if plan.resumes else None
    return (earlier["id"] if earlier is not None else await client.create(plan.system)), earlier


def _end_of(conversation: dict[str, Any]) -> str:
    """Return the end of the last message of an earlier conversation."""
    text = conversation["messages"][-1]["content"] if conversation["messages"] else ""
    end = text[-SHOWN_CHARACTERS:]
    return printable(f"…{end}" if len(end) < len(text) else end)


async def _ready(client: ChatClient) -> dict[str, Any] | None:
    """Wait until the server can answer, and return the model's entry of /health.

    Returns None if the server reports that it cannot serve. Raise RefusedError if it requires another key.
    """
    shown = None
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
        if health["starting"] != shown:
            shown = health["starting"]
            print(f"The server is starting: {shown}", file=sys.stderr)
        await asyncio.sleep(POLL_SECONDS)


async def _answer(
    client: ChatClient, conversation_id: str, content: str, *, shows_thoughts: bool, shows_receipt: bool
) -> bool:
    """Print the answer to `content` as it arrives, and return whether it ended without an error."""
    view = AnswerView(partial(print, end="", flush=True), shows_thoughts=shows_thoughts)
    async with contextlib.aclosing(client.send(conversation_id, content)) as events:
        with contextlib.closing(view):
            async for event in events:
                match event.kind:
                    case "delta":
                        if reasoning := event.data.get("reasoning"):
                            view.thought(reasoning)
                        if text := event.data["text"]:
                            view.add_text(text)
                    case "done":
                        view.close()
                        print(f"\n{receipt(event.data['message'])}" if shows_receipt else "")
                        return True
                    case "error":
                        view.close()
                        print(f"\nebb: {event.data['error']['message']}", file=sys.stderr)
    return False


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
