"""Result of reading one answer, as both sides report it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class ReadCall:
    """A call as a client receives it.

    arguments: text of the arguments, joined from the pieces of a stream.
    at: number of the piece of the answer with which the call is first reported.
    """

    name: str
    arguments: str
    at: int = 0


@dataclass(frozen=True, slots=True)
class Outcome:
    """An answer as a client receives it. error: the exception that reading raised, or empty."""

    text: str
    calls: Sequence[ReadCall] = ()
    error: str = ""


def outcome_of(body: Mapping[str, Any]) -> Outcome:
    """Return the outcome that `vllm_side` writes as JSON."""
    return Outcome(body["text"], [ReadCall(**call) for call in body["calls"]], body["error"])
