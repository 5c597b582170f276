"""State and loss of workers in other processes, as seen by the scheduler."""

from dataclasses import dataclass
from typing import Literal

from engine.api.errors import EngineError


class WorkersLostError(EngineError):
    """The workers are gone, and with them the device's blocks and every step in flight.

    The requests are not at fault and can be recomputed after `restart`. All steps that were lost together raise the
    same error.
    """


@dataclass(frozen=True, slots=True)
class WorkersState:
    """State of all ranks, which start, compute and end together."""

    state: Literal["starting", "ok", "failed"]
    """"failed" means that the workers are no longer restarted."""
    pids: tuple[int | None, ...]
    """Process ids by rank; None while there is no process."""
    restarts: int
    """Restarts so far."""
    last_loss: str
    """Cause of the last loss, as a sentence; empty if there was none."""
    busy_seconds: tuple[float, ...] = ()
    """Seconds of forward passes by rank, since the first start."""
