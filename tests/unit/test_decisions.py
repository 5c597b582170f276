"""Form of the records of decisions, and of the table that lists them."""

import re
from pathlib import Path

import pytest

from tests.style_rules import ROOT

FOLDER = ROOT / "docs/decisions"
RECORDS = sorted(set(FOLDER.glob("*.md")) - {FOLDER / "README.md"})
_HEAD = re.compile(r"# (.+)\n\n(?:Accepted|Replaced by \[[^]\n]+\]\((?P<by>[\w-]+\.md)\)) on (\d{4}-\d\d-\d\d)\.\n\n")


def row_of(text: str, name: str) -> str:
    """Return the row of the table for a record. Raise ValueError if the beginning of its text has another form."""
    head = _HEAD.match(text)
    if head is None:
        raise ValueError(f"{name} does not begin with a heading, a status and a date, as README.md describes")
    title, by, date = head.groups()
    status = "accepted" if by is None else f"replaced by [{by}]({by})"
    return f"| [{title}]({name}) | {status} | {date} |"


@pytest.mark.parametrize("record", RECORDS, ids=lambda record: record.stem)
def test_decision_has_status_and_date_and_is_listed(record: Path) -> None:
    text = record.read_text()
    assert row_of(text, record.name) in (FOLDER / "README.md").read_text().splitlines()
    head = _HEAD.match(text)
    assert head is not None
    assert head["by"] is None or (FOLDER / head["by"]).exists()


def test_table_of_decisions_lists_only_records() -> None:
    listed = re.findall(r"^\| \[.+?\]\((.+?)\) \|", (FOLDER / "README.md").read_text(), re.MULTILINE)
    assert sorted(listed) == [record.name for record in RECORDS]


def test_status_forms_are_read() -> None:
    assert row_of("# A\n\nAccepted on 2026-11-20.\n\nText", "a.md") == "| [A](a.md) | accepted | 2026-11-20 |"
    assert row_of("# A\n\nReplaced by [B](b.md) on 2026-12-24.\n\nText", "a.md") == (
        "| [A](a.md) | replaced by [b.md](b.md) | 2026-12-24 |"
    )
    for wrong in ("# A\n\nText", "# A\n\nAccepted.\n\nText", "# A\n\nRejected on 2026-11-20.\n\nText"):
        with pytest.raises(ValueError, match=r"a\.md does not begin"):
            row_of(wrong, "a.md")
