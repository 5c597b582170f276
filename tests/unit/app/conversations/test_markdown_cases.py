"""Text as people write it: the cases by which the page tests its own renderer, too."""

import html
import json
import re
from pathlib import Path
from typing import Any, Final

import pytest

from app.conversations import shared_markdown
from app.conversations.shared_markdown import SharedMarkdown
from tests.unit.app.conversations.markdown_cases import Shown

CASES: Final[list[dict[str, Any]]] = json.loads((Path(__file__).parents[3] / "markdown/cases.json").read_text())


@pytest.mark.parametrize("case", CASES, ids=[case["name"] for case in CASES])
def test_text_is_shown_as_on_the_page(case: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shared_markdown, "mathml", lambda tex, display: f"<math>{html.escape(tex)}</math>")
    shown = Shown(SharedMarkdown().render(case["text"]))
    if case["shows"] is not None:
        assert shown.text == case["shows"]
    assert set(case.get("words", ())) <= set(re.findall("[a-z]+", shown.text))
    for name, expected in shown.elements.items():
        assert expected == case.get(name, expected), name
    assert shown.tasks == case.get("tasks", shown.tasks)
