"""Answers on pages of shared chats: a text for each construct, by which the page tests its own parser, too."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Final

from app.conversations.shared_code import NAMES, coloured
from app.conversations.shared_markdown import SharedMarkdown
from tests.cost_rows import MOST_GROWTH, CostRow, for_each, growth
from tests.sizes import Size

TEXTS: Final[list[dict[str, str]]] = json.loads((Path(__file__).parents[2] / "markdown/costs.json").read_text())


def maker(text: dict[str, str]) -> Callable[[int], str]:
    before, unit, then, after = (text.get(part, "") for part in ("before", "unit", "then", "after"))
    return lambda size: before + unit * size + then * size + after


def rendered(text: str) -> str:
    # A page limits the time of its texts. This clock stands still, so that all of the text is rendered.
    return SharedMarkdown(clock=lambda: 0.0).render(text)


CODE: Final = (
    "1e",
    "1_",
    "0xf",
    "'",
    '"',
    '"""',
    "`",
    "'\\",
    "/*",
    "//",
    "#",
    "--[[",
    "<!--",
    "<a ",
    "a",
    'r"',
    ". ",
    "$",
)
"""Units of code that begin a part, or could make a pattern look further each time."""


def colours(language: str, unit: str) -> CostRow:
    def read(code: str) -> object:
        return coloured(code, language, lambda: None)

    return CostRow(f"{language}: {unit}", lambda size: unit * size, read, 200, 20_000)


ROWS: Final = [
    *(CostRow(text["name"], maker(text), rendered, 60, 2_000) for text in TEXTS),
    *(colours(names.split()[0], unit) for names in NAMES for unit in CODE),
]


@for_each(ROWS)
def test_cost_grows_in_proportion_to_text(row: CostRow, size: Size) -> None:
    assert growth(row, size.pick(small=row.size, full=row.full)) <= MOST_GROWTH
