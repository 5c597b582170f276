"""`python -m bench.long_prompt`: effect of a long prompt's arrival on running streams.

Eight streams decode, undisturbed at first. Then a long prompt arrives, and the gaps between the streams' tokens are
measured until the prompt's first token. Quiet and disturbed stretches alternate within one run. The result is the ratio
of their 99th percentiles.
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
from bench.ending import run_to_end
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
    """One round. Gaps are in milliseconds, over all streams; ttft_ms is the long prompt's."""

    quiet_ms: Spread
    disturbed_ms: Spread
    ttft_ms: float

    @property
    def p99_ratio(self) -> float:
        """Disturbed p99 divided by the quiet one."""
        return self.disturbed_ms.p99 / self.quiet_ms.p99


async def measure(server: EbbServer, number: int) -> Round:
    """Measure one quiet and one disturbed stretch, with prompts that no earlier round used."""
    client = server.client
    streams = [
        asyncio.create_task(client.complete(prompt(STREAM_PROMPT, number * 100 + at), Generation(STREAM_TOKENS)))
        for at in range(STREAMS)
    ]
    # The sleep does not synchronize: it only has to be long enough for all to stream, which `gaps_between` verifies.
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
    """Return the milliseconds between tokens of which the second arrived in (begin, end].

    Raise ValueError if a stream has no such gap.
    """
    found: list[float] = []
    for answer in answers:
        times = [answer.sent + at for at in answer.text_times]
        own = [(b - a) * 1e3 for a, b in pairwise(times) if begin < b <= end]
        if not own:
            raise ValueError("a stream did not decode for the whole interval; make the streams longer")
        found += own
    return found


def prompt(length: int, salt: int) -> list[int]:
    """Make token ids that share no prefix with those of another salt."""
    return [_TOKENS[(salt * 7919 + at * 104729) % len(_TOKENS)] for at in range(length)]


async def run(rounds: int) -> list[Round]:
    """Run all rounds on one server with its default settings."""
    with tempfile.TemporaryDirectory() as state:
        async with EbbServer(ServerSettings("default"), Path(state)) as server:
            done = []
            for number in range(rounds + 1):
                each = await measure(server, number)
                if number == 0:
                    continue  # The first round teaches the server the cost of a step.
                done.append(each)
                print(
                    f"round {number}: p99 {each.quiet_ms.p99:.1f} ms quiet, {each.disturbed_ms.p99:.1f} ms alongside "
                    f"the prompt: {each.p99_ratio:.2f} times; the prompt's first token after {each.ttft_ms:.0f} ms",
                    flush=True,
                )
            return done


def main(argv: Sequence[str] | None = None) -> int:
    """Measure, print and write. Return 1 if the target is missed."""
    parser = argparse.ArgumentParser(prog="python -m bench.long_prompt", description=__doc__)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--out", type=Path, default=Path("bench/results/long_prompt.json"))
    arguments = parser.parse_args(argv)
    rounds = run_to_end(run(arguments.rounds))
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
    print(f"p99 ITL alongside a prompt of {LONG_PROMPT} tokens: {ratio:.2f} times the quiet one (target {TARGET:g})")
    return 0 if ratio <= TARGET else 1


if __name__ == "__main__":
    raise SystemExit(main())
