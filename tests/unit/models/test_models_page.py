"""The list of tested architectures in docs/reference/models.md."""

import re

from models.transformers.tested import TESTED
from tests.style_rules import ROOT


def test_page_lists_exactly_the_tested_architectures() -> None:
    page = (ROOT / "docs/reference/models.md").read_text()
    (names,) = re.findall(r"```text\n(.*?)```", page, re.DOTALL)
    assert names.split() == sorted(TESTED)
