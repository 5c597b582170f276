"""STYLE.md, checked over the whole tree."""

import pytest

from tests.style_rules import code_files, docs_files, in_page, in_source, violations_in


def test_every_file_follows_the_style() -> None:
    violations = [str(violation) for path in (*code_files(), *docs_files()) for violation in violations_in(path)]
    assert violations == []


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
