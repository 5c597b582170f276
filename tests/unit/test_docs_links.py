"""Links of the repository's pages to each other, with their anchors."""

import re
from functools import cache
from pathlib import Path

import pytest

from tests.style_rules import ROOT

PAGES = sorted(
    [
        *ROOT.glob("*.md"),
        *(ROOT / "docs").rglob("*.md"),
        *(ROOT / "bench/results").glob("*.md"),
        ROOT / "web/README.md",
    ]
)
CODE = ("app", "bench", "cache_tiers", "deploy", "engine", "models", "scripts", "tests", "web/src")
_MENTION = re.compile(r"(?<![\w./-])docs/[\w/-]+\.(?:md|json)\b")
_FENCE = re.compile(r"^( *)```.*?^\1```", re.DOTALL | re.MULTILINE)
_CODE = re.compile(r"`[^`\n]*`")
_LINK = re.compile(r"\]\(([^)\s]+)\)")
_HEADING = re.compile(r"^#+ (.*)$", re.MULTILINE)


@cache
def anchors_of(page: Path) -> frozenset[str]:
    """Collect the anchors that GitHub gives the headings of a page."""
    titles = (
        re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", title) for title in _HEADING.findall(_FENCE.sub("", page.read_text()))
    )
    return frozenset(re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles)


def broken_links_of(page: Path) -> list[str]:
    """List the links of a page whose file or anchor does not exist."""
    links = _LINK.findall(_CODE.sub("", _FENCE.sub("", page.read_text())))
    return [link for link in links if not re.match(r"[a-z]+:", link) and not _leads_somewhere(link, page)]


def _leads_somewhere(link: str, page: Path) -> bool:
    path, _, anchor = link.partition("#")
    target = (page.parent / path).resolve() if path else page
    if not target.exists():
        return False
    return not anchor or target.suffix != ".md" or anchor in anchors_of(target)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_every_link_of_a_page_leads_somewhere(page: Path) -> None:
    assert broken_links_of(page) == []


def test_every_page_that_code_names_exists() -> None:
    files = [
        path for folder in CODE for path in (ROOT / folder).rglob("*") if path.suffix in (".py", ".ts", ".yaml", "")
    ]
    texts = {path: path.read_text() for path in files if path.is_file() and "static" not in path.parts}
    named = {
        (path.relative_to(ROOT).as_posix(), page) for path, text in texts.items() for page in _MENTION.findall(text)
    }
    # Pages of other projects.
    named = {(path, page) for path, page in named if page not in ("docs/gguf.md", "docs/x.md")}
    assert [(path, page) for path, page in sorted(named) if not (ROOT / page).is_file()] == []


def test_missing_file_and_missing_anchor_are_found(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(
        "# A `b`, c\n\n```\n# no heading\n```\n\n[1](#a-b-c) [2](#no-heading) [3](gone.md) [4](page.md#d) `[5](x)`\n"
    )
    assert broken_links_of(page) == ["#no-heading", "gone.md", "page.md#d"]
