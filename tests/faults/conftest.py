"""The table of faults: each test adds a row, and the table is printed at the end of the run."""

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

import pytest

BUILD = Path("build")


@dataclass(frozen=True, slots=True)
class Line:
    """Row of the table: the effects of one fault.

    wrong: answers that differ from those without tiers.
    restored: prompt tokens that were restored instead of computed.
    gap_ratio: 99th percentile of the time between two tokens of a stream, relative to the same scene without tiers.
    worst_ttft_ms: longest time to first token of the returning chats, in milliseconds.
    computed_ttft_ms: the same in the scene without tiers.
    """

    fault: str
    answers: int
    wrong: int
    restored: int
    gap_ratio: float
    worst_ttft_ms: float
    computed_ttft_ms: float


class Table:
    """Rows of the tests so far."""

    def __init__(self) -> None:
        self.lines: list[Line] = []

    def markdown(self) -> str:
        """Render the table in Markdown."""
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
    """Collect the rows of all tests. Write and print the table at the end of the session."""
    table = Table()
    yield table
    BUILD.mkdir(exist_ok=True)
    (BUILD / "faults.md").write_text(table.markdown())
    (BUILD / "faults.json").write_text(json.dumps([asdict(line) for line in table.lines], indent=1))
    print("\n\n" + table.markdown())
