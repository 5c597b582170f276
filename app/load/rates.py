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


def steady_rate(answers: Sequence[Answer]) -> float:
    """Return tokens per second while every answer was decoding: from the last first text to the first last text.

    An event with text counts as its share of the answer's tokens. Prefills are outside that window, so the rate does
    not depend on whether a server answers its first request before it has read the others. Return inf if the answers
    never decoded together.
    """
    begin = max(answer.sent + answer.text_times[0] for answer in answers)
    end = min(answer.sent + answer.text_times[-1] for answer in answers)
    if end <= begin:
        return inf
    tokens = 0.0
    for answer in answers:
        inside = sum(begin < answer.sent + time <= end for time in answer.text_times)
        tokens += inside / len(answer.text_times) * answer.tokens
    return tokens / (end - begin)


def steady_gaps(streams: Sequence[Sequence[float]]) -> list[float]:
    """Return the gaps while every stream was decoding: from the last first arrival to the first last arrival.

    streams: ascending arrival times of each stream, on one clock.

    Gaps outside that window were measured with fewer streams, or during another stream's prefill.
    """
    begin = max(times[0] for times in streams)
    end = min(times[-1] for times in streams)
    return [b - a for times in streams for a, b in pairwise(times) if a >= begin and b <= end]
