"""Selection of the arms and suites of a run."""

from collections.abc import Sequence
from dataclasses import dataclass

from bench.peers.points import SUITES

ARMS = (
    *("ebb-bf16", "ebb-int8", "ebb-int4", "ebb-bf16-plain", "ebb-int4-plain"),
    "vllm-bf16",
    *("llama-bf16", "llama-Q8_0", "llama-Q4_0", "llama-Q4_K_M"),
)
UNASKED = ("ebb-int4", "ebb-bf16-plain", "ebb-int4-plain", "llama-Q4_0", "llama-Q4_K_M")
"""Arms that run only when named. Four bits are for larger models than the default one. The plain arms show how much of
Ebb's decoding is due to guessed tokens, since answers that may not end soon repeat themselves.
"""


@dataclass(frozen=True, slots=True)
class Selection:
    """Selected arms and suites, in the order of ARMS and SUITES."""

    arms: tuple[str, ...]
    suites: tuple[str, ...]

    def weights(self, peer: str) -> tuple[str, ...]:
        """List the weights of the selected arms of "ebb", "vllm" or "llama"."""
        return tuple(arm.partition("-")[2] for arm in self.arms if arm.startswith(f"{peer}-"))


def select(names: Sequence[str]) -> Selection:
    """Select arms and suites by name.

    A name is one of an arm ("llama-Q8_0"), a peer ("llama") or a suite. A peer stands for its arms without UNASKED. If
    no arm or peer is named, all arms but UNASKED are selected. If no suite is named, all are. Raise ValueError for an
    unknown name.
    """
    peers = {arm.partition("-")[0] for arm in ARMS}
    if unknown := [name for name in names if name not in (*ARMS, *peers, *SUITES)]:
        raise ValueError(f"unknown: {', '.join(unknown)}; choose from {', '.join((*sorted(peers), *ARMS, *SUITES))}")
    named = tuple(arm for arm in ARMS if arm in names or (arm.partition("-")[0] in names and arm not in UNASKED))
    return Selection(
        arms=named or tuple(arm for arm in ARMS if arm not in UNASKED),
        suites=tuple(suite for suite in SUITES if suite in names) or SUITES,
    )
