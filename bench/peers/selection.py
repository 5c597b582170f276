"""Which arms and suites a run is asked for."""

from collections.abc import Sequence
from dataclasses import dataclass

from bench.peers.points import SUITES

ARMS = ("ebb-bf16", "ebb-int8", "vllm-bf16", "llama-bf16", "llama-Q8_0", "llama-Q4_1")
UNASKED = ("llama-Q4_1",)
"""Arms that take part only when they are named: slower than their siblings everywhere."""


@dataclass(frozen=True, slots=True)
class Selection:
    """arms: some of ARMS. suites: some of SUITES. Both in the order of those."""

    arms: tuple[str, ...]
    suites: tuple[str, ...]

    def weights(self, peer: str) -> tuple[str, ...]:
        """The weights of the arms of "ebb", "vllm" or "llama"."""
        return tuple(arm.partition("-")[2] for arm in self.arms if arm.startswith(f"{peer}-"))


def select(names: Sequence[str]) -> Selection:
    """What `names` of arms ("llama-Q8_0"), peers ("llama") and suites ask for; all of a kind where none is named.

    Raises ValueError for a name that is none of these.
    """
    peers = {arm.partition("-")[0] for arm in ARMS}
    if unknown := [name for name in names if name not in (*ARMS, *peers, *SUITES)]:
        raise ValueError(f"no {', '.join(unknown)}; there are {', '.join((*sorted(peers), *ARMS, *SUITES))}")
    named = tuple(arm for arm in ARMS if arm in names or (arm.partition("-")[0] in names and arm not in UNASKED))
    return Selection(
        arms=named or tuple(arm for arm in ARMS if arm not in UNASKED),
        suites=tuple(suite for suite in SUITES if suite in names) or SUITES,
    )
