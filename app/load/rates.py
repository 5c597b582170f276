"""Rates of answers that were streamed at the same time."""

from collections.abc import Sequence
from itertools import pairwise
from math import inf

from app.load.answer import Answer


def decode_rate(answers: Sequence[Answer]) -> float:
    """Return tokens per second while any answer was decoding, without the first token of each; inf if none was."""
    began = min(answer.sent + answer.ttft for answer in answers)
    ended = max(answer.sent + answer.total for answer in answers)
    return sum(answer.tokens - 1 for answer in answers) / (ended - began) if ended > began else inf


def steady_gaps(streams: Sequence[Sequence[float]]) -> list[float]:
    """Return the gaps while every stream was decoding: from the last first arrival to the first last arrival.

    streams: ascending arrival times of each stream, on one clock.

    Gaps outside that window were measured with fewer streams, or during another stream's prefill.
    """
    begin = max(times[0] for times in streams)
    end = min(times[-1] for times in streams)
    return [b - a for times in streams for a, b in pairwise(times) if a >= begin and b <= end]
