"""Ratios within Ebb's own measurements, and their comparison with a baseline. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from bench.peers.arms import Setup
from bench.peers.metrics import decode_key, ttft_key, turns_key
from bench.peers.record import Record
from bench.peers.summary import EBB_BF16, EBB_INT8
from bench.stats import median

QUIET_GAP: Final = "mixed.quiet_gap"


def engine_key(streams: int) -> str:
    """Name the metric of the in-process engine, in tokens per second."""
    return f"engine.{streams}"


def worker_key(streams: int) -> str:
    """Name the metric of bare steps, in tokens per second."""
    return f"worker.{streams}"


def worker_prompt_key(tokens: int) -> str:
    """Name the metric of a bare step that computes a whole prompt, in milliseconds."""
    return f"worker.prompt.{tokens}"


@dataclass(frozen=True, slots=True)
class Watched:
    """One ratio within each round: metric and arm `over` divided by metric and arm `under`.

    margin: fraction of the baseline by which a run may be worse, somewhat more than the noise between equal runs.
    """

    key: str
    title: str
    over: tuple[str, str]
    under: tuple[str, str]
    margin: float
    higher_is_better: bool = False

    def of(self, record: Record) -> float | None:
        """Return the median over the rounds, or None if no round has both values."""
        above, below = record.by_round(*self.over), record.by_round(*self.under)
        values = [above[number] / below[number] for number in above if number in below]
        return median(values) if values else None


WATCHED: Final = (
    Watched(
        "int8_over_bf16",
        "int8 over bf16, tok/s at 1 stream",
        (decode_key(1), EBB_INT8),
        (decode_key(1), EBB_BF16),
        0.12,
        higher_is_better=True,
    ),
    Watched(
        "streams_8_over_1",
        "8 streams over 1, tok/s",
        (decode_key(8), EBB_BF16),
        (decode_key(1), EBB_BF16),
        0.15,
        higher_is_better=True,
    ),
    Watched(
        "streams_32_over_1",
        "32 streams over 1, tok/s",
        (decode_key(32), EBB_BF16),
        (decode_key(1), EBB_BF16),
        0.15,
        higher_is_better=True,
    ),
    *(
        Watched(
            f"engine_over_step_{streams}",
            f"the engine over bare steps, time per token at {streams}",
            (worker_key(streams), EBB_BF16),
            (engine_key(streams), EBB_BF16),
            0.12,
        )
        for streams in (1, 32)
    ),
    *(
        Watched(
            f"http_over_engine_{streams}",
            f"HTTP over the engine in process, time per token at {streams}",
            (engine_key(streams), EBB_BF16),
            (decode_key(streams), EBB_BF16),
            0.12,
        )
        for streams in (1, 32)
    ),
    Watched(
        "ttft_over_step_512",
        "TTFT of 512 new tokens over a bare step",
        (ttft_key(512, "cold"), EBB_BF16),
        (worker_prompt_key(512), EBB_BF16),
        0.15,
    ),
    *(
        Watched(
            f"hit_over_cold_{tokens}",
            f"TTFT of {tokens:,} tokens, again over new",
            (ttft_key(tokens, "hit"), EBB_BF16),
            (ttft_key(tokens, "cold"), EBB_BF16),
            0.25,
        )
        for tokens in (512, 2_048)
    ),
    Watched(
        "mixed_p99_over_quiet",
        "p99 ITL of 8 streams while prompts arrive over the quiet gap",
        ("mixed.itl_p99", EBB_BF16),
        (QUIET_GAP, EBB_BF16),
        0.3,
    ),
    Watched(
        "turns_scarce_over_memory",
        "later turns, KV for 2 of 8 chats over all in memory, mean TTFT",
        (turns_key(Setup.TURNS_SCARCE), EBB_BF16),
        (turns_key(Setup.TURNS_IN_MEMORY), EBB_BF16),
        0.25,
    ),
)


@dataclass(frozen=True, slots=True)
class Verdict:
    """One ratio and its baseline, either of which may be missing."""

    watched: Watched
    value: float | None
    baseline: float | None

    @property
    def worse_by(self) -> float | None:
        """Fraction of the baseline by which this run is worse; negative if it is better, None without a comparison."""
        if self.value is None or self.baseline is None:
            return None
        change = self.value / self.baseline - 1
        return -change if self.watched.higher_is_better else change

    @property
    def failed(self) -> bool:
        """Whether the ratio is worse by more than the margin. A ratio that cannot be compared has not failed."""
        return self.worse_by is not None and self.worse_by > self.watched.margin


def verdicts(record: Record, baseline: Mapping[str, float], watched: Sequence[Watched] = WATCHED) -> list[Verdict]:
    return [Verdict(each, each.of(record), baseline.get(each.key)) for each in watched]


def to_text(found: Sequence[Verdict]) -> str:
    """Format a table for a terminal, with one ratio per line."""
    width = max(len(verdict.watched.title) for verdict in found)
    head = f"{'':{width}}  {'now':>8}  {'baseline':>8}  {'worse by':>8}  {'margin':>6}"
    return "\n".join([head, *(_line(verdict, width) for verdict in found)])


def _line(verdict: Verdict, width: int) -> str:
    value = "–" if verdict.value is None else f"{verdict.value:.3f}"
    baseline = "–" if verdict.baseline is None else f"{verdict.baseline:.3f}"
    worse = "–" if verdict.worse_by is None else f"{verdict.worse_by:+.0%}"
    end = "  WORSE" if verdict.failed else ""
    title, margin = verdict.watched.title, verdict.watched.margin
    return f"{title:{width}}  {value:>8}  {baseline:>8}  {worse:>8}  {margin:>6.0%}{end}"
