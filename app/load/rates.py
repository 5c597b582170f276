"""How fast answers came that were streamed at the same time."""

from collections.abc import Sequence
from itertools import pairwise
from math import inf

from app.load.answer import Answer


def decode_rate(answers: Sequence[Answer]) -> float:
    """Tokens behind the first of each answer, over the time in which any was still to come; infinite if none was."""
    began = min(answer.sent + answer.ttft for answer in answers)
    ended = max(answer.sent + answer.total for answer in answers)
    return sum(answer.tokens - 1 for answer in answers) / (ended - began) if ended > began else inf


def steady_gaps(streams: Sequence[Sequence[float]]) -> list[float]:
    """Gaps between arrivals while every stream was producing: from the last first arrival to the first last arrival.

    streams: for each stream its arrival times, ascending, on one clock. What lies outside that window was measured with
    fewer streams, or beside another stream's prefill.
    """
    begin = max(times[0] for times in streams)
    end = min(times[-1] for times in streams)
    return [b - a for times in streams for a, b in pairwise(times) if a >= begin and b <= end]
