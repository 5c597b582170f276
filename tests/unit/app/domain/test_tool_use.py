"""Tools in stored messages."""

import json

import pytest

from app.domain.tool_use import MayCall, dump_tool_use, load_tool_use


@pytest.mark.parametrize(
    ("marks", "name"), [(("<tool_call>", "</tool_call>"), "hermes"), (("[unused11]", "[unused12]"), "openpangu")]
)
def test_marks_stored_by_earlier_versions_find_format(marks: tuple[str, str], name: str) -> None:
    start, end = marks
    stored = json.dumps(["may_call", {"start": start, "end": end, "parallel": False, "custom": ["run"]}])
    found = load_tool_use(stored)
    assert found == MayCall(name, parallel=False, custom=("run",))
    assert load_tool_use(dump_tool_use(found)) == found
