"""What a run has measured so far, in a form that outlives the run."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

Samples = dict[str, dict[str, dict[int, float]]]
"""Metric -> arm -> round -> value."""


@dataclass(slots=True)
class Record:
    """Samples by metric, arm and round. A sample that is missing was not asked for, or failed.

    rounds_done: part of the run -> the round that it goes on with.
    """

    samples: Samples = field(default_factory=dict)
    rounds_done: dict[str, int] = field(default_factory=dict)

    def add(self, metric: str, arm: str, round_number: int, value: float) -> None:
        """A second value for the same place replaces the first: a round that is taken up again counts once."""
        self.samples.setdefault(metric, {}).setdefault(arm, {})[round_number] = value

    def values(self, metric: str, arm: str) -> list[float]:
        """In the order of rounds; empty where there are none."""
        return [value for _, value in sorted(self.by_round(metric, arm).items())]

    def by_round(self, metric: str, arm: str) -> Mapping[int, float]:
        """Round -> value."""
        return self.samples.get(metric, {}).get(arm, {})

    def arms(self, metric: str) -> Iterable[str]:
        """The arms that have a value."""
        return self.samples.get(metric, {}).keys()

    def to_json(self) -> dict[str, Any]:
        """For `from_json`. JSON makes text of the numbers of rounds."""
        return {"rounds_done": self.rounds_done, "samples": self.samples}

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> "Record":
        """What `to_json` made and JSON stored. Raises KeyError, ValueError or AttributeError on anything else."""
        record = cls(rounds_done={part: int(count) for part, count in stored["rounds_done"].items()})
        for metric, arms in stored["samples"].items():
            for arm, values in arms.items():
                for number, value in values.items():
                    record.add(metric, arm, int(number), float(value))
        return record
