"""STYLE.md, held over every file that is not on the list of files that do not follow it yet."""

import pytest

from tests.style_rules import ROOT, code_files, docs_files, in_page, in_source, is_clean, read_pending, violations_in


def test_files_off_the_pending_list_follow_the_style() -> None:
    pending = set(read_pending())
    checked = [path for path in (*code_files(), *docs_files()) if path.relative_to(ROOT).as_posix() not in pending]
    violations = [str(violation) for path in checked for violation in violations_in(path)]
    assert violations == []


def test_pending_list_holds_only_files_with_violations() -> None:
    done = [name for name in read_pending() if not (ROOT / name).exists() or is_clean(ROOT / name)]
    assert done == [], "run: python -m tests.style_rules --shrink"


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ('def f() -> None:\n    """What it does."""\n', "docstring opens with 'what'"),
        ('def f() -> None:\n    """The sum."""\n', "docstring opens with 'the'"),
        ('class A:\n    """Nobody uses it."""\n', "docstring opens with 'nobody'"),
        ('class A:\n    """A table. It is sorted."""\n', "sentence opens with 'it'"),
        ("# The blocks are computed\n# anew.\n", "'anew': again"),
        (f"def test_{'x' * 60}() -> None: ...\n", "test name of 65 characters"),
    ],
)
def test_each_rule_finds_what_it_forbids(source: str, found: str) -> None:
    assert any(found in text for _, text in in_source(source))


def test_clean_source_has_no_violations() -> None:
    assert list(in_source('"""Block tables."""\n\n\nclass A:\n    """A table of blocks."""\n')) == []


def test_page_of_long_sentences_is_found() -> None:
    assert list(in_page("# Tiers\n\n" + f"A tier {'holds blocks ' * 20}here. " * 3)) != []
    assert list(in_page("# Tiers\n\nA tier holds blocks.\n")) == []
