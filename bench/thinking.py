"""`python -m bench.thinking`: share of a prompt that is reused where answers begin with reasoning.

History contains no reasoning, so the prompt of a turn diverges from the generated tokens where the last answer's
reasoning began. Each chat begins with a page of text and continues with short questions. Between two turns a user
either reads or asks at once. In the latter case there is no idle time in which to prefill the next prompt. The model is
a reasoning variant of the default one (see `bench.thinking_model`).
"""

import argparse
import asyncio
import tempfile
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

import aiohttp

from app.client.chat_client import read_events
from app.config.settings import load_settings
from bench.ending import run_to_end
from bench.machine import describe_machine
from bench.report import RESULTS, write_results
from bench.server import EbbServer, ServerSettings
from bench.stats import median
from bench.thinking_model import write_thinking_model
from models.download.resolve import resolve_model

TEXTS: Final = Path(__file__).parent / "quality_text"
PROSE: Final = ("essay", "manual", "story", "conversation", "romance", "records")
READING_SECONDS: Final = {"after reading": 4.0, "at once": 0.0}
"""Seconds between the end of an answer and the next question, by the name of the arm."""
LEAST_REUSED: Final = 0.95
MAX_TOKENS: Final = 220
FIRST: Final = "Here is a text:\n\n{text}\n\nSay in a few words what it is about. Then list what it names."
QUESTIONS: Final = (
    "List what matters most, with reasons.",
    "Explain it in several paragraphs.",
    "Tell it as a story for children.",
    "List what is missing in the text.",
    "Write a longer summary, with a title.",
)


@dataclass(frozen=True, slots=True)
class Turn:
    """One answer after the first of its chat. Sizes are in tokens.

    thought: tokens of reasoning.
    ttft_ms: time to the first token, of reasoning or text.
    """

    prompt: int
    cached: int
    completion: int
    thought: int
    ttft_ms: float

    @property
    def share(self) -> float:
        """Share of the prompt that was not recomputed."""
        return self.cached / self.prompt


@dataclass(frozen=True, slots=True)
class Row:
    """Result of one arm: shares of prompts, and medians of the other values.

    thought_about: number of turns with reasoning.
    least_share: least share of a turn.
    share: share over all turns.
    """

    arm: str
    turns: int
    thought_about: int
    prompt: float
    thought: float
    answer: float
    least_share: float
    share: float
    ttft_ms: float


async def chat(session: aiohttp.ClientSession, text: str, seed: int, turns: int, pause: float) -> list[Turn]:
    """Run one conversation and return all turns but the first.

    pause: seconds before each question.
    """
    params = {"max_tokens": MAX_TOKENS, "seed": seed, "temperature": 0.7, "top_p": 0.9}
    async with session.post("/api/conversations", json={"params": params}) as response:
        conversation = str((await response.json())["id"])
    questions = [FIRST.format(text=text), *(QUESTIONS[at % len(QUESTIONS)] for at in range(turns))]
    await ask(session, conversation, questions[0])
    found: list[Turn] = []
    for content in questions[1:]:
        await asyncio.sleep(pause)
        found.append(await ask(session, conversation, content))
    return found


async def ask(session: aiohttp.ClientSession, conversation: str, content: str) -> Turn:
    """Send one question and read its answer to the end. Raise RuntimeError if the answer fails."""
    async with session.post(f"/api/conversations/{conversation}/messages", json={"content": content}) as response:
        response.raise_for_status()
        async for event in read_events(response.content.iter_any()):
            last = event
    if last.kind != "done":
        raise RuntimeError(f"the answer ended with {last.kind}: {last.data}")
    usage: dict[str, Any] = last.data["message"]["usage"]
    return Turn(
        prompt=usage["prompt_tokens"],
        cached=usage["prompt_tokens_details"]["cached_tokens"],
        completion=usage["completion_tokens"],
        thought=usage.get("completion_tokens_details", {}).get("reasoning_tokens", 0),
        ttft_ms=usage["ttft_ms"],
    )


async def measure(server: EbbServer, chats: int, turns: int) -> list[Row]:
    """Measure all arms, each with its own chats."""
    texts = [(TEXTS / f"{name}.txt").read_text(encoding="utf-8") for name in PROSE]
    rows: list[Row] = []
    async with aiohttp.ClientSession(server.base_url) as session:
        for number, (arm, pause) in enumerate(READING_SECONDS.items()):
            found: list[Turn] = []
            for at in range(chats):
                # Each text begins differently, so that no chat finds the blocks of another.
                text = f"({arm}, {at})\n{texts[at % len(texts)]}"
                found += await chat(session, text, 1000 * number + at, turns, pause)
                print(f"{arm}: {at + 1} of {chats} chats", flush=True)
            rows.append(row(arm, found))
    return rows


def row(arm: str, found: Sequence[Turn]) -> Row:
    """Aggregate the turns of one arm."""
    return Row(
        arm=arm,
        turns=len(found),
        thought_about=sum(turn.thought > 0 for turn in found),
        prompt=median([float(turn.prompt) for turn in found]),
        thought=median([float(turn.thought) for turn in found]),
        answer=median([float(turn.completion - turn.thought) for turn in found]),
        least_share=min(turn.share for turn in found),
        share=sum(turn.cached for turn in found) / sum(turn.prompt for turn in found),
        ttft_ms=median([turn.ttft_ms for turn in found]),
    )


def is_met(rows: Sequence[Row]) -> bool:
    """Return whether every turn that followed a pause for reading reused enough, and its answer had reasoning."""
    return all(
        each.least_share >= LEAST_REUSED and each.thought_about == each.turns
        for each in rows
        if READING_SECONDS[each.arm]
    )


def table(rows: Sequence[Row]) -> str:
    """Format the rows as Markdown."""
    lines = [
        "| next question | turns | with reasoning | prompt, tokens | reasoning, tokens | answer, tokens "
        "| reused | lowest reuse | TTFT, ms | |",
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | --- |",
    ]
    for each in rows:
        met = "met" if is_met([each]) else "missed"
        verdict = f"at least {LEAST_REUSED:.0%}: {met}" if READING_SECONDS[each.arm] else ""
        lines.append(
            f"| {each.arm} | {each.turns} | {each.thought_about} | {each.prompt:.0f} | {each.thought:.0f} "
            f"| {each.answer:.0f} | {each.share:.1%} | {each.least_share:.1%} | {each.ttft_ms:.0f} | {verdict} |"
        )
    return "\n".join(lines) + "\n"


def write(rows: Sequence[Row], folder: Path) -> None:
    """Write thinking.json and thinking.md."""
    report = {"machine": asdict(describe_machine()), "rows": [asdict(each) for each in rows], "met": is_met(rows)}
    write_results(folder, "thinking", report, table(rows))


async def run(chats: int, turns: int) -> list[Row]:
    """Serve the model and measure."""
    settings = load_settings({})
    source = resolve_model(settings.model, settings.cache_dir, lambda line: print(line, flush=True))
    with tempfile.TemporaryDirectory(prefix="ebb-thinking-") as folder:
        model = write_thinking_model(source, Path(folder) / "thinking")
        flags = ("--model", str(model), "--chat-titles", "first-words")
        async with EbbServer(ServerSettings("thinking", flags), Path(folder) / "state") as server:
            return await measure(server, chats, turns)


def main(argv: Sequence[str] | None = None) -> int:
    """Measure, print and write. Return 1 if the target is missed."""
    parser = argparse.ArgumentParser(prog="python -m bench.thinking", description=__doc__)
    parser.add_argument("--chats", type=int, default=6, help="chats per arm")
    parser.add_argument("--turns", type=int, default=len(QUESTIONS), help="turns per chat, after the first")
    parser.add_argument("--out", type=Path, default=RESULTS)
    arguments = parser.parse_args(argv)
    rows = run_to_end(run(arguments.chats, arguments.turns))
    write(rows, arguments.out)
    print(table(rows), end="")
    return 0 if is_met(rows) else 1


if __name__ == "__main__":
    raise SystemExit(main())
