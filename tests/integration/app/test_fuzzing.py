"""Fuzzing with schemathesis, which generates requests from the server's OpenAPI document."""

from pathlib import Path

import pytest

from bench.api.fuzz import fuzz_with_schemathesis
from tests.sizes import TOOL, Size

pytestmark = TOOL

CHAT = r"^/v1/chat/completions$"
LIMITS = r"^/api/admin/tenants/.*/limits$"


@pytest.mark.long
@pytest.mark.parametrize("paths", ["", LIMITS])
async def test_no_generated_request_causes_a_server_fault(tmp_path: Path, size: Size, paths: str) -> None:
    paths = paths or size.pick(small=CHAT, full="")
    found = await fuzz_with_schemathesis(size.pick(small=1, full=100), 1, tmp_path, paths)
    assert found.requests > 100, (tmp_path / "schemathesis" / "schemathesis.log").read_text()
    assert found.statuses.keys() >= {"200", "400"}
    assert (found.faults, found.log_errors) == (0, ())
