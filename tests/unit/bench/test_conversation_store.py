"""The benchmark of the store, with few conversations."""

from pathlib import Path

from bench.conversation_store import measure, report


async def test_every_figure_is_measured_and_shown(tmp_path: Path) -> None:
    figures = await measure(tmp_path / "conversations.db", conversations=4, messages=40, rounds=2)
    found = {figure.name: figure.found for figure in figures}
    assert found["fill: one message"] == 40
    assert found["list: first page of 100"] == 4
    assert found["open a conversation"] == 10
    assert found["search: a word of every message"] > 20
    assert found["search: a word of no message"] == 0
    assert all(figure.milliseconds.count for figure in figures)
    lines = list(report(figures))
    assert len(lines) == len(figures) + 2
