"""`python -m bench.hostile_forms`: what hostile forms cost a server: until each is refused or compiled, and how long
the event loop stood still meanwhile. Prints the worst ones; returns 1 if a target is missed. The library is loaded
before.
"""

import asyncio
import json
import time
from contextlib import suppress
from typing import Final

from app.config import load_settings
from engine.errors import InvalidRequestError
from engine.grammar.form import AnswerForm
from engine.grammar.grammars import Grammars
from engine.sampling_params import SamplingParams
from models.resolve import DEFAULT_MODEL, resolve_model
from models.text_tokenizer import load_tokenizer
from tests.hostile_forms import BEYOND, WITHIN

MOST_SECONDS: Final = 0.1
MOST_LAG_SECONDS: Final = 0.05
TICK_SECONDS: Final = 0.001


class Lag:
    """How late the loop was at most since it was last asked."""

    def __init__(self) -> None:
        self._worst = 0.0

    async def watch(self) -> None:
        """Until it is cancelled."""
        while True:
            began = time.perf_counter()
            await asyncio.sleep(TICK_SECONDS)
            self._worst = max(self._worst, time.perf_counter() - began - TICK_SECONDS)

    def take(self) -> float:
        """In seconds; counts anew from here."""
        worst, self._worst = self._worst, 0.0
        return worst


async def measure(grammars: Grammars) -> list[tuple[float, float, str]]:
    """(seconds, lag in seconds, the form) of each."""
    lag, measured = Lag(), list[tuple[float, float, str]]()
    watching = asyncio.create_task(lag.watch())
    await grammars.prepare(SamplingParams(form=AnswerForm("regex", "first")))
    for kind, form in [*((kind, form) for kind, form, _ in BEYOND), *WITHIN]:
        text = form if isinstance(form, str) else json.dumps(form)
        await asyncio.sleep(10 * TICK_SECONDS)
        lag.take()
        began = time.perf_counter()
        with suppress(InvalidRequestError):
            await grammars.prepare(SamplingParams(form=AnswerForm(kind, text)))
        seconds = time.perf_counter() - began
        await asyncio.sleep(2 * TICK_SECONDS)
        measured.append((seconds, lag.take(), f"{kind}: {text[:60]!r}"))
    watching.cancel()
    return measured


def main() -> int:
    """Measure and print."""
    tokenizer = load_tokenizer(resolve_model(DEFAULT_MODEL, load_settings({}).cache_dir, print))
    grammars = Grammars(tokenizer, tokenizer.vocab_size, None)
    measured = asyncio.run(measure(grammars))
    grammars.close()
    slowest, laziest = max(measured), max(measured, key=lambda each: each[1])
    print(f"{len(measured)} forms")
    print(f"slowest {slowest[0] * 1e3:.1f} ms (at most {MOST_SECONDS * 1e3:.0f}): {slowest[2]}")
    print(f"worst lag {laziest[1] * 1e3:.1f} ms (at most {MOST_LAG_SECONDS * 1e3:.0f}): {laziest[2]}")
    return int(slowest[0] > MOST_SECONDS or laziest[1] > MOST_LAG_SECONDS)


if __name__ == "__main__":
    raise SystemExit(main())
