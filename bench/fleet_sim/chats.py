"""Conversations for simulations at scale: made when they begin, so that a million of them need no memory."""

import random
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from bench.fleet_sim.world import Session, Turn

LONGEST: Final = 1 << 12
"""Most blocks of a conversation, which separates the names of conversations."""


@dataclass(frozen=True, slots=True)
class ChatShape:
    """Sizes of conversations, in blocks, seconds and tokens of answers.

    block: tokens of a block.
    systems: number of different system prompts.
    seconds: time in which the conversations begin.
    """

    count: int
    seconds: float
    block: int = 64
    systems: int = 100
    system_blocks: int = 8
    question_blocks: tuple[int, int] = (4, 20)
    more_blocks: tuple[int, int] = (1, 6)
    turns: tuple[int, int] = (1, 3)
    answer: tuple[int, int] = (32, 224)
    think: float = 10.0


def chats(shape: ChatShape, seed: int) -> Iterator[Session]:
    """Return the conversations, in order of their beginnings."""
    draw = random.Random(seed)
    at = 0.0
    for number in range(shape.count):
        at += draw.expovariate(shape.count / shape.seconds)
        yield _turns(shape, at, number, draw.getrandbits(32))


def _turns(shape: ChatShape, at: float, number: int, seed: int) -> Session:
    draw = random.Random(seed)
    system = draw.randrange(shape.systems)
    names = [(system + 1) << 44 | index for index in range(shape.system_blocks)]
    own = (number + 1) * LONGEST
    wait, more = at, shape.question_blocks
    for _ in range(draw.randint(*shape.turns)):
        names = names + [own + len(names) + index for index in range(draw.randint(*more))]
        answer = draw.randint(*shape.answer)
        after = names + [own + len(names) + index for index in range(answer // shape.block)]
        yield Turn(wait, names, after, len(names) * shape.block + draw.randint(1, shape.block - 1), answer)
        names, wait, more = after, draw.expovariate(1 / shape.think), shape.more_blocks
