"""Results of `ebb bench` by number of streams, and their presentation."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf

from app.load.answer import Answer
from app.load.rates import decode_rate, steady_gaps
from app.observability.percentiles import percentile

HEAD = (
    f"{'':7} {'decoding':>10}   {'first token':^18}   {'first token, cached':^20}      between two tokens",
    f"{'streams':>7} {'tokens/s':>10} {'p50':>10} {'p99':>10} {'p50':>10} {'p99':>11} {'p50':>10} {'p99':>10}",
)


@dataclass(frozen=True, slots=True)
class Level:
    """Measurements with one number of streams.

    rates: tokens per second in each round; None where all tokens came at once.
    cold: times to the first token for new prompts, in seconds.
    cached: times to the first token for cached prompts, in seconds.
    gaps: times between two tokens, in seconds.
    """

    streams: int
    rates: tuple[float | None, ...]
    cold: tuple[float, ...]
    cached: tuple[float, ...]
    gaps: tuple[float, ...]

    @classmethod
    def of(cls, streams: int, rounds: Sequence[tuple[Sequence[Answer], Sequence[Answer]]]) -> "Level":
        """Make a level from its rounds: answers to new prompts, then answers to the same prompts once cached."""
        return cls(
            streams=streams,
            rates=tuple(rate if (rate := decode_rate(again)) < inf else None for _, again in rounds),
            cold=tuple(answer.ttft for new, _ in rounds for answer in new),
            cached=tuple(answer.ttft for _, again in rounds for answer in again),
            gaps=tuple(gap for _, again in rounds for gap in _gaps(again)),
        )

    @property
    def rate(self) -> float | None:
        """Tokens per second of the median round; None if no round has a rate."""
        measured = [rate for rate in self.rates if rate is not None]
        return percentile(measured, 50) if measured else None

    def row(self) -> str:
        """Return the table row, aligned with HEAD."""
        times = (value for sample in (self.cold, self.cached, self.gaps) for value in _p50_p99(sample))
        cold50, cold99, cached50, cached99, gap50, gap99 = map(_milliseconds, times)
        rate = f"{self.rate:10,.1f}" if self.rate is not None else f"{'-':>10}"
        return f"{self.streams:7} {rate} {cold50} {cold99} {cached50} {cached99:>11} {gap50} {gap99}"

    def as_json(self) -> dict[str, object]:
        """Return the measurements with times in milliseconds."""
        samples = {"ttft_cold_ms": self.cold, "ttft_cached_ms": self.cached, "itl_ms": self.gaps}
        named = {
            name: dict(zip(("p50", "p99"), map(_rounded_ms, _p50_p99(sample)), strict=True))
            for name, sample in samples.items()
        }
        rate, *rounds = (None if rate is None else round(rate, 2) for rate in (self.rate, *self.rates))
        return {"streams": self.streams, "tokens_per_second": rate, "rounds": rounds, **named}


def _gaps(answers: Sequence[Answer]) -> Sequence[float]:
    """Return the gaps while all answers were decoding. Answers too short for that contribute all their gaps."""
    arrivals = [[answer.sent + at for at in answer.text_times] for answer in answers if answer.text_times]
    steady = steady_gaps(arrivals) if arrivals else []
    return steady or [gap for answer in answers for gap in answer.gaps]


def _p50_p99(sample: Sequence[float]) -> tuple[float | None, float | None]:
    return (percentile(sample, 50), percentile(sample, 99)) if sample else (None, None)


def _rounded_ms(seconds: float | None) -> float | None:
    return round(seconds * 1e3, 3) if seconds is not None else None


def _milliseconds(seconds: float | None) -> str:
    return f"{seconds * 1e3:7.1f} ms" if seconds is not None else f"{'-':>10}"
