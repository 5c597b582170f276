"""Reason of a server process's end, in words, and whether another start can end otherwise."""

import os
import signal

from app.config.sizes import format_size
from app.host.start_step import StartStep
from engine.process.control_groups import memory_group, num_oom_kills

RESTART = 75
"""Exit status (EX_TEMPFAIL) of a server process that has handed over its answers and requests a restart."""

LOWER = "lower --kv-memory, --cpu-kv-memory or --redis-memory, choose a smaller --model, or raise the limit"


class ServerEnds:
    """Ends of the server processes, one after another. Call `began` before each fork, and `note` after each end."""

    def __init__(self, step: StartStep) -> None:
        self._step = step
        self._kills_before: int | None = None
        self._kind = ""
        self.is_hopeless = False

    def began(self) -> None:
        """Note that a server process is about to start."""
        self._step.report("")
        self._kills_before = num_oom_kills()

    def note(self, status: int) -> str:
        """Describe the wait status of the process that ended.

        `is_hopeless` is then whether it lacked memory at the same step of the start as the process before it.
        """
        lacked_memory = self._lacked_memory(status)
        kind = self._step.kind if lacked_memory else ""
        self.is_hopeless = bool(kind) and kind == self._kind
        self._kind = kind
        text = described(status)
        if not lacked_memory:
            return text
        group = memory_group()
        limit = f"limit: {format_size(group.limit)}" if group is not None else "the machine has no more"
        step = f" while it started, at the step '{self._step.sentence}'" if kind else ""
        return f"{text}, because the kernel lacked memory for it ({limit}){step}: {LOWER}"

    def _lacked_memory(self, status: int) -> bool:
        if not os.WIFSIGNALED(status) or os.WTERMSIG(status) != signal.SIGKILL or self._kills_before is None:
            return False
        kills = num_oom_kills()
        return kills is not None and kills > self._kills_before


def described(status: int) -> str:
    """Describe a wait status."""
    code = os.waitstatus_to_exitcode(status)
    if code == RESTART:
        return "asked for a restart"
    return f"was killed by {signal.Signals(-code).name}" if code < 0 else f"ended with status {code}"
