"""Random mixtures of all constructs: no error, and no lost word. The page draws the same ones."""

import json
import random
import re
from pathlib import Path
from typing import Final

import pytest

from app.conversations.shared_markdown import SharedMarkdown
from tests.sizes import Size
from tests.unit.app.conversations.markdown_cases import Shown

MIXTURES: Final[dict[str, list[str]]] = json.loads((Path(__file__).parents[3] / "markdown/mixtures.json").read_text())
NESTED: Final = (
    ">",
    "> ",
    "- ",
    "1. ",
    "* - > ",
    "*",
    "**",
    "_",
    "[",
    "![",
    "<b>",
    "<details>",
    "<details>\n",
    "<div>",
)


def mixture(numbers: random.Random) -> tuple[str, set[str]]:
    """Return a text, and the words that a reader sees."""
    words, parts = set[str](), list[str]()
    for index in range(numbers.randint(1, 24)):
        if numbers.random() < 0.25:
            parts.append(numbers.choice(MIXTURES["bare"]))
        else:
            words.add(f"w{index}z")
            parts.append(numbers.choice(MIXTURES["around"]).replace("WORD", f"w{index}z"))
    return "".join(parts), words


def test_any_mixture_is_drawn_without_loss(size: Size, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("app.conversations.shared_markdown.mathml", lambda tex, display: None)
    for seed in range(size.pick(small=150, full=10_000)):
        text, words = mixture(random.Random(seed))
        shown = Shown(SharedMarkdown().render(text)).text
        # Words after the marks of a fence are its language, and no text.
        languages = " ".join(re.findall("(?:`{3}|~{3}).*", text))
        assert {word for word in words if word not in shown and word not in languages} == set(), repr(text)


@pytest.mark.parametrize("unit", NESTED)
def test_endless_nesting_is_shown(unit: str) -> None:
    assert "word" in SharedMarkdown().render(unit * 600 + "word")
