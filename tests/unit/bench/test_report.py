"""The files in which benchmarks publish their results."""

import json
from pathlib import Path

import pytest

from bench.report import write_results


def test_results_are_written_rounded_next_to_their_tables(tmp_path: Path) -> None:
    folder = tmp_path / "made"
    write_results(folder, "speed", {"ms": 0.123456, "rows": ({"cpu": "é"},)}, "| ms |\n")
    assert json.loads((folder / "speed.json").read_text()) == {"ms": 0.12346, "rows": [{"cpu": "é"}]}
    assert (folder / "speed.md").read_text() == "| ms |\n"
    assert len(list(folder.iterdir())) == 2


def test_failed_write_leaves_the_earlier_results(tmp_path: Path) -> None:
    write_results(tmp_path, "speed", {"ms": 1.0}, "")
    with pytest.raises(TypeError):
        write_results(tmp_path, "speed", {"ms": object()}, "")
    assert json.loads((tmp_path / "speed.json").read_text()) == {"ms": 1.0}
