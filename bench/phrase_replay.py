"""Replays of answers, of which half repeat phrases of others or none do: what phrases of earlier answers gain.

One server answers the same requests for one tenant, whose phrases it learns on the way, and for a new tenant with each
request, which has none. Both arms begin without phrases. The order of the arms alternates.
"""

import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from app.load.answer import Answer
from app.load.client import Generation, LoadClient, Message
from bench.server import EbbServer
from bench.stats import median, share
from bench.tenant_keys import TenantKeys

FORMS: Final = (
    "Write a short Python function that reads a CSV file and returns the column {}.",
    "Write a polite email that asks {} for an appointment next week.",
    "Write a job advertisement for a {} in a small company.",
    "Write the HTML of a simple form with an input for the {} and a button.",
    "Write a JSON object that describes a {}, with five fields.",
)
"""Requests whose answers have the same form for every name."""
NAMES: Final = (
    *("name", "price", "city", "teacher", "doctor", "baker", "lawyer", "driver", "address", "country"),
    *("nurse", "gardener", "date", "color", "email", "weight", "painter", "cook", "author", "phone"),
)
QUESTIONS: Final = (
    "Tell me about the history of {}.",
    "What should a visitor see in {}?",
    "Write a short story that happens in {}.",
    "How would you explain {} to a child?",
    "Which three facts about {} surprise people?",
    "Compare {} with its neighbours.",
    "Write a poem about {}.",
    "What do people eat in {}?",
    "Why would somebody move to {}?",
    "Describe a rainy day in {}.",
)
PLACES: Final = (
    *("Paris", "Kenya", "Peru", "Iceland", "Tokyo", "Cairo", "Brazil", "Norway", "Vienna", "Cuba"),
    *("India", "Rome", "Chile", "Malta", "Texas", "Wales", "Nepal", "Ghana", "Boston", "Samoa"),
)


@dataclass(frozen=True, slots=True)
class Replay:
    """Requests of one replay, one after another. least: target of the ratio."""

    name: str
    least: float
    requests: tuple[tuple[Sequence[Message], Generation], ...]


@dataclass(frozen=True, slots=True)
class ReplayRow:
    """Result of one replay.

    apart, together: tokens per second where each request has a new tenant, and where all have one.
    ratio: median over the rounds of together / apart; lowest, highest: its extremes.
    same: share of the answers that are equal in both arms.
    """

    replay: str
    answers: int
    least: float
    apart: float
    together: float
    ratio: float
    lowest: float
    highest: float
    same: float

    @property
    def met(self) -> bool:
        """Whether the ratio meets its target and all answers are equal."""
        return self.ratio >= self.least and self.same == 1


def replays(answers: int, tokens: int) -> tuple[Replay, ...]:
    """Make both replays, of `answers` answers of `tokens` tokens each."""
    forms = [form.format(name) for name in NAMES for form in FORMS]
    questions = [question.format(place) for place in PLACES for question in QUESTIONS]
    half = answers // 2
    mixed = [each for pair in zip(forms[:half], questions[:half], strict=True) for each in pair]
    return (
        Replay("half repeat phrases", 1.5, tuple(_request(text, tokens, at) for at, text in enumerate(mixed))),
        Replay(
            "nothing repeats", 0.97, tuple(_request(text, tokens, at) for at, text in enumerate(questions[:answers]))
        ),
    )


def _request(text: str, tokens: int, seed: int) -> tuple[Sequence[Message], Generation]:
    """Ask for a form greedily, and for anything else with its own seed."""
    is_form = any(text.startswith(form.split("{")[0]) for form in FORMS)
    how = Generation(tokens) if is_form else Generation(tokens, 0.8, extra={"seed": seed})
    return [{"role": "user", "content": text}], how


async def measure(server: EbbServer, measured: Sequence[Replay], rounds: int) -> list[ReplayRow]:
    """Measure each replay in `rounds` rounds on a running server."""
    keys = TenantKeys(_url(server))
    rows: list[ReplayRow] = []
    for replay in measured:
        found: list[dict[str, tuple[float, list[str]]]] = []
        for number in range(rounds):
            print(f"{replay.name}, round {number + 1} of {rounds}", file=sys.stderr, flush=True)
            name = f"{replay.name}-{number}".replace(" ", "-")
            apart = await keys.make([f"{name}-{at}" for at in range(len(replay.requests))])
            together = await keys.make([name]) * len(replay.requests)
            arms = [("apart", apart), ("together", together)]
            found.append({arm: await _answers(server, replay, of) for arm, of in arms[:: 1 if number % 2 else -1]})
        rows.append(_row(replay, found))
    return rows


async def _answers(server: EbbServer, replay: Replay, keys: Sequence[str]) -> tuple[float, list[str]]:
    """Ask all requests one after another, and return the tokens per second and the texts."""
    answers: list[Answer] = []
    seconds = 0.0
    for key, (messages, how) in zip(keys, replay.requests, strict=True):
        async with LoadClient(_url(server), model=await server.client.model(), api_key=key) as client:
            began = time.perf_counter()
            answers.append(await client.chat(messages, how))
            seconds += time.perf_counter() - began
    tokens = sum(answer.usage.completion_tokens for answer in answers if answer.usage is not None)
    return tokens / seconds, [answer.text for answer in answers]


def _row(replay: Replay, found: Sequence[dict[str, tuple[float, list[str]]]]) -> ReplayRow:
    ratios = [each["together"][0] / each["apart"][0] for each in found]
    texts = [pair for each in found for pair in zip(each["together"][1], each["apart"][1], strict=True)]
    return ReplayRow(
        replay.name,
        len(replay.requests),
        replay.least,
        median([each["apart"][0] for each in found]),
        median([each["together"][0] for each in found]),
        median(ratios),
        min(ratios),
        max(ratios),
        share([one == other for one, other in texts]),
    )


def table(rows: Sequence[ReplayRow]) -> str:
    """Format the rows as Markdown."""
    lines = [
        "| replay | answers | tok/s, a tenant each | one tenant | ratio | rounds | target | | same answers |",
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: | --- | ---: |",
    ]
    lines += [
        f"| {row.replay} | {row.answers} | {row.apart:.0f} | {row.together:.0f} | {row.ratio:.2f} | "
        f"{row.lowest:.2f} to {row.highest:.2f} | {row.least:.2f} | {'met' if row.met else 'missed'} | {row.same:.0%} |"
        for row in rows
    ]
    return "\n".join([*lines, ""])


def _url(server: EbbServer) -> str:
    url = server.base_url
    assert url is not None, "the server is not running"
    return url
