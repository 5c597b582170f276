"""Sessions of token ids as the simulator sees them: names of blocks."""

import itertools
from collections.abc import Iterator, Sequence
from typing import Final

from bench.fleet_policies.workloads import Ask
from bench.fleet_sim.world import Session, Turn
from cache_tiers.owners.block_key import BlockKey, extend_keys
from engine.fleet.wire.report import name_of

BLOCK: Final = 64
ROOT: Final = BlockKey(bytes(32))
FIRST_ANSWER_ID: Final = 1 << 24


def named(session: Sequence[Ask], numbers: Iterator[int]) -> Session:
    """Return a session for the simulator, with answers whose ids occur nowhere else.

    numbers: source of these ids.
    """
    history: list[int] = []
    for ask in session:
        prompt = [*(history if ask.continues else ()), *ask.fresh]
        history = prompt + [FIRST_ANSWER_ID + next(numbers) for _ in range(ask.answer)]
        names = [name_of(key) for key in extend_keys(ROOT, history, BLOCK)]
        yield Turn(ask.wait, names[: len(prompt) // BLOCK], names, len(prompt), ask.answer)


def all_named(sessions: Sequence[Sequence[Ask]]) -> list[Session]:
    """Return all sessions for the simulator."""
    numbers = itertools.count()
    return [named(session, numbers) for session in sessions]


def reusable_tokens(sessions: Sequence[Sequence[Ask]]) -> int:
    """Return the prompt tokens that one replica with endless memory has in whole blocks when they come."""
    known, total = set[int](), 0
    for session in all_named(sorted(sessions, key=lambda session: session[0].wait)):
        for turn in session:
            most = turn.names[: (turn.num_tokens - 1) // BLOCK]
            total += BLOCK * next((at for at, name in enumerate(most) if name not in known), len(most))
            known.update(turn.names_after)
    return total
