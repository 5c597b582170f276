"""The form in which benchmarks publish their results: targets, and the files in bench/results."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from bench.rounding import rounded

RESULTS: Final = Path(__file__).parent / "results"


@dataclass(frozen=True, slots=True)
class Target:
    """One claim and its bound.

    value: measured value. None means that the run could not measure it, so the target is missed.
    at_least: whether the bound is a lower one.
    """

    claim: str
    value: float | None
    bound: float
    at_least: bool

    @property
    def met(self) -> bool:
        """Whether the value is on the right side of its bound."""
        if self.value is None:
            return False
        return self.value >= self.bound if self.at_least else self.value <= self.bound


def write_results(folder: Path, name: str, content: object, text: str) -> None:
    """Write NAME.json and NAME.md into `folder`, and make the folder if it is missing.

    A run that is interrupted leaves the JSON of an earlier one whole, because it may continue from there.

    content: what the JSON has.
    text: the tables, in Markdown.
    """
    folder.mkdir(parents=True, exist_ok=True)
    partial = folder / f"{name}.tmp.json"
    partial.write_text(to_json(content), encoding="utf-8")
    partial.rename(folder / f"{name}.json")
    (folder / f"{name}.md").write_text(text, encoding="utf-8")


def show_results(folder: Path, name: str, content: object, text: str) -> None:
    """Write results as `write_results`, and print the tables."""
    write_results(folder, name, content, text)
    print(text.rstrip())


def to_json(content: object) -> str:
    """Serialize results, with numbers rounded to their precision."""
    return json.dumps(rounded(content), indent=1, ensure_ascii=False) + "\n"
