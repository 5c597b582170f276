"""What the scheduler's side knows of workers in other processes."""

from dataclasses import dataclass
from typing import Literal

from engine.errors import EngineError


class WorkersLostError(EngineError):
    """The workers are gone, and with them the device's blocks and every step under way. Nothing is wrong with the
    requests: they can be computed again after `restart`. One error for all steps that were lost together."""


@dataclass(frozen=True, slots=True)
class WorkersState:
    """All ranks start, compute and end together. pids: by rank; None while there is no process.
    failed: they are not started again. last_loss: how they were lost the last time, in a sentence; empty if they never
    were."""

    state: Literal["starting", "ok", "failed"]
    pids: tuple[int | None, ...]
    restarts: int
    last_loss: str
