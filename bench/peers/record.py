"""Samples of a run, in a form that outlives the run."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

Samples = dict[str, dict[str, dict[int, float]]]
"""Values by metric, arm and round."""


@dataclass(slots=True)
class Record:
    """Samples by metric, arm and round. A missing sample was not measured, or its measurement failed.

    rounds_done: by part of the run, the round with which the part continues.
    """

    samples: Samples = field(default_factory=dict)
    rounds_done: dict[str, int] = field(default_factory=dict)

    def add(self, metric: str, arm: str, round_number: int, value: float) -> None:
        """Add a sample. A second value replaces the first, so a round that is repeated counts once."""
        self.samples.setdefault(metric, {}).setdefault(arm, {})[round_number] = value

    def values(self, metric: str, arm: str) -> list[float]:
        """Return the values in the order of rounds; empty if there are none."""
        return [value for _, value in sorted(self.by_round(metric, arm).items())]

    def by_round(self, metric: str, arm: str) -> Mapping[int, float]:
        """Return the values by round."""
        return self.samples.get(metric, {}).get(arm, {})

    def arms(self, metric: str) -> Iterable[str]:
        """Return the arms that have a value."""
        return self.samples.get(metric, {}).keys()

    def to_json(self) -> dict[str, Any]:
        """Return the value for `from_json`. JSON turns the numbers of rounds into strings."""
        return {"rounds_done": self.rounds_done, "samples": self.samples}

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> "Record":
        """Restore a record from JSON. Raise KeyError, ValueError or AttributeError if `to_json` did not make it."""
        record = cls(rounds_done={part: int(count) for part, count in stored["rounds_done"].items()})
        for metric, arms in stored["samples"].items():
            for arm, values in arms.items():
                for number, value in values.items():
                    record.add(metric, arm, int(number), float(value))
        return record
