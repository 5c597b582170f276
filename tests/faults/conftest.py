"""The table of faults: each test adds its line, and the end of the run prints all of them."""

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

import pytest

BUILD = Path("build")


@dataclass(frozen=True, slots=True)
class Line:
    """wrong: answers that differ from those without tiers. restored: tokens that were not computed. gap_ratio: 99th
    percentile of the time between two tokens of the streams, over that of the same scene without tiers. worst_ttft_ms,
    computed_ttft_ms: of the chats that come back, here and without tiers."""

    fault: str
    answers: int
    wrong: int
    restored: int
    gap_ratio: float
    worst_ttft_ms: float
    computed_ttft_ms: float


class Table:
    """The lines so far."""

    def __init__(self) -> None:
        self.lines: list[Line] = []

    def markdown(self) -> str:
        """All of it."""
        head = (
            "| fault | answers | wrong | tokens restored | p99 between tokens of others, times | worst TTFT, ms "
            "| computing all, ms |\n| --- | ---: | ---: | ---: | ---: | ---: | ---: |\n"
        )
        return head + "".join(
            f"| {line.fault} | {line.answers} | {line.wrong} | {line.restored} | {line.gap_ratio:.2f} "
            f"| {line.worst_ttft_ms:.0f} | {line.computed_ttft_ms:.0f} |\n"
            for line in self.lines
        )


@pytest.fixture(scope="session")
def table() -> Iterator[Table]:
    """Printed and written when all tests are over."""
    table = Table()
    yield table
    BUILD.mkdir(exist_ok=True)
    (BUILD / "faults.md").write_text(table.markdown())
    (BUILD / "faults.json").write_text(json.dumps([asdict(line) for line in table.lines], indent=1))
    print("\n\n" + table.markdown())
