"""Paths and tests of the repository that its pages name."""

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from tests.style_rules import ROOT, docs_files

PAGES = (*docs_files(), ROOT / "web/README.md")
_FOLDERS = ("app", "engine", "cache_tiers", "models", "web/src", "web/tests", "tests", "bench", "scripts", "docs")
_PATH = re.compile(rf"(?<![\w./-])(?:{'|'.join(_FOLDERS)})/[\w./*{{}},-]*")
_CODE = re.compile(r"`([^`\n]+)`")
_CHOICE = re.compile(r"{([^{}]*)}")
MADE = ("app/static", "bench/results/gpu.", "web/src/services/api/schema.d.ts")
"""Beginnings of paths that a command makes."""


def paths_named_in(page: str) -> Iterator[str]:
    """Yield the paths in the inline code of a page, with each choice of `{a,b}` written out."""
    for code in _CODE.findall(page):
        for path in _PATH.findall(code):
            yield from _written_out(path.rstrip(".,"))


def _written_out(path: str) -> Iterator[str]:
    choice = _CHOICE.search(path)
    if choice is None:
        yield path
    else:
        for part in choice[1].split(","):
            yield from _written_out(path[: choice.start()] + part + path[choice.end() :])


def missing_from(page: str, *bases: Path) -> list[str]:
    """List the paths that a page names and that neither exist nor are made by a command.

    bases: the folders that a path may start from.
    """
    named = (path for path in paths_named_in(page) if not path.startswith(MADE))
    return [path for path in named if not any(any(base.glob(path)) for base in bases)]


@cache
def known_tests() -> frozenset[str]:
    """Collect the names of all tests and of their modules."""
    files = list((ROOT / "tests").rglob("test_*.py"))
    found = (re.findall(r"def (test_\w+)", file.read_text()) for file in files)
    return frozenset(file.stem for file in files).union(*found)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_every_path_and_test_in_a_page_exists(page: Path) -> None:
    text = page.read_text()
    assert missing_from(text, ROOT, page.parent) == []
    assert [
        name for code in _CODE.findall(text) for name in re.findall(r"\btest_\w+", code) if name not in known_tests()
    ] == []


def test_missing_path_is_found_in_every_notation(tmp_path: Path) -> None:
    (tmp_path / "app/http").mkdir(parents=True)
    (tmp_path / "app/http/bodies.py").touch()
    there = "`app/http/`, `app/*/bodies.py`, `app/http/{bodies}.py`, `app/http/bodies.py::test_x`, `app/static/x`"
    assert missing_from(there, tmp_path) == []
    gone = "`app/http/gone.py::test_x`, `python app/gone/`, `app/{http,gone}`, `app/http/g*.py`, `x/app/other`"
    assert missing_from(gone, tmp_path) == ["app/http/gone.py", "app/gone/", "app/gone", "app/http/g*.py"]
