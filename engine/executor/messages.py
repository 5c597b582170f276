"""What the executor and the process of one rank say to each other, over a pipe that nobody else can reach.

Each is one pickle in one frame of a `multiprocessing` connection. Down: a call of the worker, or a step. Up: the
answers in the order of the calls, and whatever the process has to say meanwhile.
"""

import logging
from dataclasses import dataclass
from typing import Any

from engine.scheduling.output import ModelRunnerOutput, SchedulerOutput


@dataclass(frozen=True, slots=True)
class Call:
    """A method of `RankServer`, with its arguments."""

    method: str
    arguments: tuple[Any, ...] = ()


@dataclass(frozen=True, slots=True)
class Answer:
    """What a call returned, or raised."""

    value: Any = None
    error: BaseException | None = None


@dataclass(frozen=True, slots=True)
class StepEnded:
    """What became of a step on one rank; `output` of every rank but the first has no tokens in it."""

    step_id: int
    output: ModelRunnerOutput | None
    error: BaseException | None = None


@dataclass(frozen=True, slots=True)
class Note:
    """A sentence about what takes long."""

    sentence: str


@dataclass(frozen=True, slots=True)
class Logged:
    """A line for the log."""

    record: logging.LogRecord


Down = Call | SchedulerOutput
Up = Answer | StepEnded | Note | Logged
