"""`python -m bench.long_prompt`: what a long prompt that arrives costs the streams that run.

Eight streams decode, quietly at first; then a long prompt arrives, and the gaps between their tokens are taken from its
arrival to its first token. Quiet and disturbed stretches alternate within one run; the figure is the ratio of their
99th percentiles.
"""

import argparse
import asyncio
import json
import tempfile
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise
from pathlib import Path
from typing import Final

from app.load.answer import Answer
from app.load.client import Generation
from bench.machine import describe_machine
from bench.server import EbbServer, ServerSettings, settle
from bench.stats import Spread, median, spread

STREAMS: Final = 8
STREAM_PROMPT: Final = 64
STREAM_TOKENS: Final = 700
LONG_PROMPT: Final = 4000
QUIET_SECONDS: Final = 2.0
TARGET: Final = 2.0
_TOKENS: Final = range(1000, 20000)


@dataclass(frozen=True, slots=True)
class Round:
    """Gaps in milliseconds, of all streams together; ttft_ms: of the long prompt."""

    quiet_ms: Spread
    disturbed_ms: Spread
    ttft_ms: float

    @property
    def p99_ratio(self) -> float:
        """Disturbed over quiet."""
        return self.disturbed_ms.p99 / self.quiet_ms.p99


async def measure(server: EbbServer, number: int) -> Round:
    """One quiet stretch and one disturbed one, with prompts that no earlier round had."""
    client = server.client
    streams = [
        asyncio.create_task(client.complete(prompt(STREAM_PROMPT, number * 100 + at), Generation(STREAM_TOKENS)))
        for at in range(STREAMS)
    ]
    # Not a synchronisation: it only has to be long enough for all to stream, which `gaps_between` verifies.
    await asyncio.sleep(QUIET_SECONDS)
    long_answer = await client.complete(prompt(LONG_PROMPT, number * 100 + 99), Generation(1))
    answers = await asyncio.gather(*streams)
    arrived, ended = long_answer.sent, long_answer.sent + long_answer.ttft
    begun = max(answer.sent + answer.ttft for answer in answers)
    await settle(server)
    return Round(
        spread(gaps_between(answers, begun, arrived)),
        spread(gaps_between(answers, arrived, ended)),
        long_answer.ttft * 1e3,
    )


def gaps_between(answers: Sequence[Answer], begin: float, end: float) -> list[float]:
    """Milliseconds between tokens of which the second came in (begin, end]. Raises ValueError if a stream has none."""
    found: list[float] = []
    for answer in answers:
        times = [answer.sent + at for at in answer.text_times]
        own = [(b - a) * 1e3 for a, b in pairwise(times) if begin < b <= end]
        if not own:
            raise ValueError("a stream did not decode during the whole stretch: the streams are too short")
        found += own
    return found


def prompt(length: int, salt: int) -> list[int]:
    """Token ids that share no prefix with those of another salt."""
    return [_TOKENS[(salt * 7919 + at * 104729) % len(_TOKENS)] for at in range(length)]


async def run(rounds: int) -> list[Round]:
    """All rounds on one server with its default settings."""
    with tempfile.TemporaryDirectory() as state:
        async with EbbServer(ServerSettings("default"), Path(state)) as server:
            done = []
            for number in range(rounds + 1):
                each = await measure(server, number)
                if number == 0:
                    continue  # It teaches the server what a step costs.
                done.append(each)
                print(
                    f"round {number}: p99 {each.quiet_ms.p99:.1f} ms quiet, {each.disturbed_ms.p99:.1f} ms beside the "
                    f"prompt: {each.p99_ratio:.2f} times; the prompt's first token after {each.ttft_ms:.0f} ms",
                    flush=True,
                )
            return done


def main(argv: Sequence[str] | None = None) -> int:
    """Measure, print and write. Returns 1 if the target is missed."""
    parser = argparse.ArgumentParser(prog="python -m bench.long_prompt", description=__doc__)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--out", type=Path, default=Path("bench/results/long_prompt.json"))
    arguments = parser.parse_args(argv)
    rounds = asyncio.run(run(arguments.rounds))
    ratio = median([each.p99_ratio for each in rounds])
    result = {
        "machine": asdict(describe_machine()),
        "streams": STREAMS,
        "prompt_tokens": LONG_PROMPT,
        "rounds": [asdict(each) for each in rounds],
        "p99_ratio": ratio,
        "target": TARGET,
    }
    arguments.out.write_text(json.dumps(result, indent=1) + "\n")
    print(f"p99 ITL beside a prompt of {LONG_PROMPT} tokens: {ratio:.2f} times the quiet one (target {TARGET:g})")
    return 0 if ratio <= TARGET else 1


if __name__ == "__main__":
    raise SystemExit(main())
