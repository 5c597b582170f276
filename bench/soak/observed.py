"""Observations of the server: its counters, its memory and its log."""

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from prometheus_client.parser import text_string_to_metric_families

_BAD_LINE: Final = re.compile(r"^\S+ \S+ (ERROR|CRITICAL) |^ *Traceback ")


@dataclass(frozen=True, slots=True)
class Counts:
    """Counters since the server's start.

    tokens: prompt tokens by origin.
    generated: generated tokens.
    checks: self-checks by outcome.
    rejected: blocks from Redis that were rejected, by reason.
    promised_bytes: those on the disk.
    broken_promises: promised blocks that could not be held.
    """

    tokens: Mapping[str, int]
    generated: int
    checks: Mapping[str, int]
    rejected: Mapping[str, int]
    preemptions: int
    promised_bytes: int = 0
    broken_promises: int = 0

    @property
    def all_checks(self) -> int:
        """Number of self-checks, clean or failed."""
        return sum(self.checks.values())


def read_counts(text: str) -> Counts:
    """Parse the text of /metrics."""
    found: defaultdict[str, dict[str, int]] = defaultdict(dict)
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            is_read = sample.name.endswith("_total") or family.name == "ebb_tier_promised_bytes"
            if is_read and len(sample.labels) <= 1:
                found[family.name]["".join(sample.labels.values())] = int(sample.value)
    return Counts(
        tokens=found["ebb_prompt_tokens"],
        generated=sum(found["ebb_generation_tokens"].values()),
        checks=found["ebb_self_checks"],
        rejected=found["ebb_redis_rejected_blocks"],
        preemptions=sum(found["ebb_preemptions"].values()),
        promised_bytes=found["ebb_tier_promised_bytes"].get("disk", 0),
        broken_promises=found["ebb_tier_broken_promises"].get("disk", 0),
    )


def describe_requests(text: str) -> str:
    """Return how many requests the server has by their state, as a phrase, from the text of /metrics."""
    families = text_string_to_metric_families(text)
    samples = (sample for family in families if family.name == "ebb_requests" for sample in family.samples)
    return ", ".join(f"{sample.value:.0f} {sample.labels['state']}" for sample in samples if sample.value)


@dataclass(frozen=True, slots=True)
class MemorySample:
    """Resident bytes, `seconds` after the beginning."""

    seconds: float
    rss: int


@dataclass(frozen=True, slots=True)
class MemorySummary:
    """Resident memory in bytes.

    settled: memory once the server had settled.
    least, most, last: memory after that.
    """

    settled: int
    least: int
    most: int
    last: int

    @property
    def drift(self) -> float:
        """Largest deviation from the settled memory, up or down, as a share of it."""
        return max(self.most - self.settled, self.least - self.settled, key=abs) / self.settled


def summarise_memory(samples: Sequence[MemorySample], settle_seconds: float) -> MemorySummary:
    """Summarize the samples from `settle_seconds` on. Raise ValueError if there are none."""
    later = [sample.rss for sample in samples if sample.seconds >= settle_seconds]
    if not later:
        raise ValueError(f"the memory was never sampled after {settle_seconds:g} s")
    return MemorySummary(later[0], min(later), max(later), later[-1])


def bad_lines(log: Path) -> Iterator[str]:
    """Yield the lines of the server's log that report errors of the server itself."""
    for line in log.read_text(errors="replace").splitlines():
        if _BAD_LINE.match(line):
            yield line
