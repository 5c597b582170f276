"""schemathesis makes requests of the server's own description; none is a fault of the server."""

from pathlib import Path

from bench.api.fuzz import fuzz_with_schemathesis
from tests.sizes import Size

CHAT = r"^/v1/chat/completions$"


async def test_nothing_that_the_description_allows_is_a_fault_of_the_server(tmp_path: Path, size: Size) -> None:
    paths = size.pick(small=CHAT, full="")
    found = await fuzz_with_schemathesis(size.pick(small=1, full=100), 1, tmp_path, paths)
    assert found.requests > 100, (tmp_path / "schemathesis" / "schemathesis.log").read_text()
    assert found.statuses.keys() >= {"200", "400"}
    assert (found.faults, found.log_errors) == (0, ())
