"""`python -m bench.several_models`: what models on one server cost each other.

Two equal models answer one after the other and at once. Three models of different depth share one place, and chats with
a history swap between them. Weights are random, with the shape and the tokenizer of the default model. Prints a table,
and writes bench/results/several_models.json and several_models.md.
"""

import argparse
import asyncio
import random
import tempfile
import time
from collections.abc import Awaitable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

from app.config.settings import load_settings
from app.host.model_loads import LEAST_SECONDS
from app.load.answer import Answer
from app.load.client import LoadClient, Message, fixed_length
from app.observability.percentiles import percentile
from bench.machine import describe_machine
from bench.random_llama import write_random_llama
from bench.report import RESULTS, show_results
from bench.report_tables import table
from bench.server import EbbServer, ServerSettings
from bench.stats import median
from bench.workload import history, passage
from models.download.resolve import resolve_model

NAMES: Final = ("ant", "bee", "cat")
STREAMS: Final = 4
TOKENS: Final = 128
SWAPS: Final = 20
BLOCK: Final = 64
HISTORY_WORDS: Final = 1500


@dataclass(frozen=True, slots=True)
class Together:
    """Tokens per second of one model alone, and of two at once; the 99th percentile between tokens in milliseconds."""

    alone: float
    both: float
    alone_p99_ms: float
    both_p99_ms: float


@dataclass(frozen=True, slots=True)
class Swap:
    """One turn of a chat whose model was not in memory.

    again: tokens that this model had computed for this chat, in full blocks, and computed again.
    """

    ttft_ms: float
    prompt_tokens: int
    again: int


def main(argv: Sequence[str] | None = None) -> int:
    """Measure, print, and write the results."""
    parser = argparse.ArgumentParser(prog="python -m bench.several_models", description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--swaps", type=int, default=SWAPS)
    parser.add_argument("--out", type=Path, default=RESULTS)
    arguments = parser.parse_args(argv)
    with tempfile.TemporaryDirectory(prefix="ebb-several-") as root:
        rounds, swaps = asyncio.run(_measure(Path(root), arguments.rounds, arguments.swaps))
    result = {
        "machine": asdict(describe_machine()),
        "together": [asdict(each) for each in rounds],
        "swaps": [asdict(each) for each in swaps],
    }
    show_results(arguments.out, "several_models", result, report(rounds, swaps))
    return 0


async def _measure(root: Path, rounds: int, swaps: int) -> tuple[list[Together], list[Swap]]:
    source = resolve_model("smollm2-135m-instruct", load_settings({}).cache_dir, print)
    models = root / "models"
    for fewer, name in enumerate(NAMES):
        (models / name).mkdir(parents=True)
        write_random_llama(source, models / name, {"num_hidden_layers": 30 - fewer}, only_known_tokens=True)
    twins = (f"ant={models / 'ant'}", f"twin={models / 'ant'}")
    together_flags = ("--models", ",".join(twins), "--model", "ant", "--no-speculation", "--kv-memory", "512MiB")
    async with EbbServer(ServerSettings("twins", together_flags), root / "twins") as server:
        together = await _together(server, rounds)
    flags = ("--models-dir", str(models), "--model", "ant", "--models-max", "1", "--kv-memory", "512MiB")
    async with EbbServer(ServerSettings("swaps", flags), root / "swaps") as server:
        return together, await _swaps(server, swaps)


async def _together(server: EbbServer, rounds: int) -> list[Together]:
    """Measure one model alone, then two at once, in turns."""
    async with _client(server, "ant") as ant, _client(server, "twin") as twin:
        await asyncio.gather(_answers(ant, "first"), _answers(twin, "first"))
        results = []
        for number in range(rounds):
            alone, alone_seconds = await _timed(_answers(ant, f"alone {number}"))
            both, both_seconds = await _timed(_answers(ant, f"ant {number}"), _answers(twin, f"twin {number}"))
            results.append(
                Together(
                    alone=len(alone) * TOKENS / alone_seconds,
                    both=len(both) * TOKENS / both_seconds,
                    alone_p99_ms=_p99_ms(alone),
                    both_p99_ms=_p99_ms(both),
                )
            )
            print(results[-1], flush=True)
        return results


def _client(server: EbbServer, model: str) -> LoadClient:
    assert server.base_url is not None
    return LoadClient(server.base_url, model=model)


async def _answers(client: LoadClient, label: str) -> list[Answer]:
    """Stream answers at once, each to another short prompt."""
    prompts = [passage(20, f"{label} {stream}") for stream in range(STREAMS)]
    return list(await asyncio.gather(*(client.complete(prompt, fixed_length(TOKENS)) for prompt in prompts)))


async def _timed(*parts: Awaitable[list[Answer]]) -> tuple[list[Answer], float]:
    began = time.perf_counter()
    found = await asyncio.gather(*parts)
    return [answer for part in found for answer in part], time.perf_counter() - began


def _p99_ms(answers: Sequence[Answer]) -> float:
    return 1000 * percentile([gap for each in answers for gap in each.gaps], 99)


async def _swaps(server: EbbServer, count: int) -> list[Swap]:
    """Continue chats, each time with another model than the one in memory. Every chat has had every model before."""
    dice, swaps = random.Random(1), list[Swap]()
    chats: list[list[Message]] = [history(HISTORY_WORDS, f"chat {number}")[:-1] for number in range(len(NAMES))]
    known: dict[tuple[int, str], int] = {}
    before = ""
    while len(swaps) < count:
        number, name = dice.randrange(len(chats)), dice.choice([each for each in NAMES if each != before])
        chat = chats[number]
        # Before that, the model in memory would stay for its least time.
        await asyncio.sleep(LEAST_SECONDS)
        chat.append({"role": "user", "content": passage(20, f"question {len(chat)}")})
        async with _client(server, name) as client:
            answer = await client.chat(chat, fixed_length(16))
        chat.append({"role": "assistant", "content": answer.text})
        cached = (answer.usage and answer.usage.cached_tokens) or 0
        if (number, name) in known:
            again = max(0, known[number, name] // BLOCK * BLOCK - cached)
            swaps.append(Swap(1000 * answer.ttft, answer.prompt_tokens, again))
            print(swaps[-1], flush=True)
        # The KV of an answer's last token is never computed.
        known[number, name] = answer.prompt_tokens + 15
        before = name
    return swaps


def report(rounds: Sequence[Together], swaps: Sequence[Swap]) -> str:
    """Return the tables. Pure."""
    rows = [
        ("tokens/s of one model alone", f"{median([each.alone for each in rounds]):.0f}"),
        ("tokens/s of two at once, over one alone", f"{median([each.both / each.alone for each in rounds]):.2f}"),
        (
            "99th percentile between tokens of two at once, over one alone",
            f"{median([each.both_p99_ms / each.alone_p99_ms for each in rounds]):.2f}",
        ),
        ("swaps", str(len(swaps))),
        ("tokens of the history", f"{median([each.prompt_tokens for each in swaps]):.0f}"),
        ("tokens of full blocks computed again, of all swaps", str(sum(each.again for each in swaps))),
        ("time to the first token of a swap, in seconds", f"{median([each.ttft_ms for each in swaps]) / 1000:.1f}"),
    ]
    return f"{table(('', 'median'), rows)}\n"


if __name__ == "__main__":
    raise SystemExit(main())
