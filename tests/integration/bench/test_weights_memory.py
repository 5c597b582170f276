"""Memory that a process has more after it has loaded a GGUF file, compared with the size of the file."""

import pytest

from bench.weights_memory import LIMITS, OTHER_LIMIT, main
from tests.sizes import TOOL

pytestmark = TOOL


@pytest.mark.parametrize("type_", ["Q4_0", "Q4_K_M", "Q6_K"])
def test_process_holds_hardly_more_than_the_file(type_: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--types", type_, "--layers", "2"]) == 0
    name, _, _, ratio = capsys.readouterr().out.split()
    assert name == type_
    assert 0.9 < float(ratio) < LIMITS.get(type_, OTHER_LIMIT)
