"""Selection of the arms and suites of a run."""

from collections.abc import Sequence
from dataclasses import dataclass

from bench.peers.points import SUITES

GGUF_KINDS = ("Q8_0", "Q4_0", "Q4_K_M")
"""llama.cpp's quantizations. Ebb and llama.cpp serve the same files of them."""
_EBB = tuple(f"ebb-{kind}" for kind in ("bf16", "int8", "int4", *GGUF_KINDS))
_PLAIN = tuple(f"{arm}-plain" for arm in _EBB)
_LLAMA = tuple(f"llama-{kind}" for kind in ("bf16", *GGUF_KINDS))
ARMS = (*_EBB, *_PLAIN, "vllm-bf16", *_LLAMA)
UNASKED = (*_EBB[2:], *_PLAIN, "llama-Q4_0", "llama-Q4_K_M")
"""Arms that run only when named. Four bits are for larger models than the default one. The plain arms do not guess
tokens: answers that may not end soon repeat themselves, so guessing is worth more than in answers that mean something.
"""


@dataclass(frozen=True, slots=True)
class Selection:
    """Selected arms and suites, in the order of ARMS and SUITES."""

    arms: tuple[str, ...]
    suites: tuple[str, ...]

    def weights(self, peer: str) -> tuple[str, ...]:
        """List the weights of the selected arms of "ebb", "vllm" or "llama"."""
        return tuple(arm.partition("-")[2] for arm in self.arms if arm.startswith(f"{peer}-"))

    @property
    def quantizations(self) -> tuple[str, ...]:
        """Kinds of llama.cpp's quantizations that any selected arm serves."""
        served = {weights.partition("-")[0] for peer in ("ebb", "llama") for weights in self.weights(peer)}
        return tuple(kind for kind in GGUF_KINDS if kind in served)


LARGE_MODEL = Selection((*_PLAIN, *_LLAMA), ("decode", "ttft"))
"""Arms and suites of a larger model than the default one, unless they are named."""


def select(names: Sequence[str], default: Selection | None = None) -> Selection:
    """Select arms and suites by name.

    A name is one of an arm ("llama-Q8_0"), a peer ("llama") or a suite. A peer stands for its arms without UNASKED. If
    no arm or peer is named, those of `default` are selected, and so with suites. Raise ValueError for an unknown name.

    default: by default all arms but UNASKED, and all suites.
    """
    peers = {arm.partition("-")[0] for arm in ARMS}
    if unknown := [name for name in names if name not in (*ARMS, *peers, *SUITES)]:
        raise ValueError(f"unknown: {', '.join(unknown)}; choose from {', '.join((*sorted(peers), *ARMS, *SUITES))}")
    named = tuple(arm for arm in ARMS if arm in names or (arm.partition("-")[0] in names and arm not in UNASKED))
    usual = default or Selection(tuple(arm for arm in ARMS if arm not in UNASKED), SUITES)
    return Selection(
        arms=named or usual.arms, suites=tuple(suite for suite in SUITES if suite in names) or usual.suites
    )
