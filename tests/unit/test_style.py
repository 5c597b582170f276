"""STYLE.md, checked over the whole tree."""

import pytest

from tests.style_rules import (
    MAX_BY_PLACE,
    code_files,
    docs_files,
    in_page,
    in_source,
    vague_names,
    violations_in,
    wide_calls,
)
from tests.wrapped_pages import long_lines, wrapped


def test_every_file_follows_the_style() -> None:
    violations = [str(violation) for path in (*code_files(), *docs_files()) for violation in violations_in(path)]
    assert violations == []


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ('def f() -> None:\n    """What it does."""\n', "docstring opens with 'what'"),
        ('def f() -> None:\n    """The sum."""\n', "docstring opens with 'the'"),
        ('def f() -> None:\n    """Compute. Raises ValueError."""\n', "'Raises'"),
        ('class A:\n    """Nobody uses it."""\n', "docstring opens with 'nobody'"),
        ('class A:\n    """A table. It is sorted."""\n', "sentence opens with 'it'"),
        ("# The blocks are computed\n# anew.\n", "'anew': again"),
        ("# The thread has a lock of its own.\n", "'of its own': its own"),
        ("# The value that the client said.\n", "'said'"),
        (f"def test_{'x' * 60}() -> None: ...\n", "test name of 65 characters"),
        ("def held_beside() -> None: ...\n", "held_beside: alongside"),
        ("class NobodyKnows:\n    x = 1\n", "NobodyKnows: name the party"),
        ("def f(goes_on: bool) -> None: ...\n", "goes_on: continues"),
        ("self.heeds = 1\n", "heeds: handle, follow"),
    ],
)
def test_each_rule_finds_what_it_forbids(source: str, found: str) -> None:
    assert any(found in text for _, text in in_source(source))


def test_long_lines_of_prose_are_found_and_wrapped() -> None:
    item = f"- `code {'word ' * 22}abc` - last"
    page = f"# {'Heading ' * 20}\n\n| {'cell ' * 40}|\n\n```\n{'code ' * 40}\n```\n\n{item}\n\n{'x' * 130}\n"
    assert [text for _, text in in_page(page) if "characters" in text] == [
        "line of 129 characters, at most 120: run python -m tests.style_rules --wrap"
    ]
    new = wrapped(page)
    assert list(long_lines(new)) == []
    assert new.split() == page.split()
    # A dash at the beginning of a line would be another item.
    assert " abc` -\n  last\n" in new


def test_clean_source_has_no_violations() -> None:
    assert list(in_source('"""Block tables."""\n\n\nclass A:\n    """A table of blocks."""\n')) == []
    errors = "Raise ValueError if there is none.\n\n    Raises:\n        OSError: the disk is full.\n    "
    assert list(in_source(f'def f() -> None:\n    """Compute. {errors}"""\n')) == []


FIELDS = "".join(f"    f{number}: int\n" for number in range(MAX_BY_PLACE + 1))
PARAMETERS = ", ".join(f"p{number}: int" for number in range(MAX_BY_PLACE + 1))


@pytest.mark.parametrize(
    ("source", "num_found"),
    [
        (f"@dataclass\nclass A:\n{FIELDS}", 1),
        (f"@dataclass(frozen=True)\nclass A:\n{FIELDS}", 1),
        (f"@dataclass(kw_only=True)\nclass A:\n{FIELDS}", 0),
        (f"@dataclass\nclass A:\n{FIELDS.replace('f0: int', 'f0: int = field(init=False)')}", 0),
        (f"@dataclass\nclass A:\n{FIELDS.replace('f0: int', 'f0: ClassVar[int] = 0')}", 0),
        (f"class A:\n{FIELDS}", 0),
        (f"def f({PARAMETERS}): ...\n", 1),
        (f"class A:\n    def f(self, {PARAMETERS}): ...\n", 1),
        (f"class A:\n    def f(self, *, {PARAMETERS}): ...\n", 0),
    ],
)
def test_wide_calls_are_found(source: str, num_found: int) -> None:
    assert len(list(wide_calls(source))) == num_found


@pytest.mark.parametrize("source", ["how = 1\n", "def f(what: str): ...\n", "class A:\n    def said(self): ...\n"])
def test_vague_name_is_found(source: str) -> None:
    assert len(list(vague_names(source))) == 1


def test_page_of_long_sentences_is_found() -> None:
    assert list(in_page("# Tiers\n\n" + f"A tier {'holds blocks ' * 20}here. " * 3)) != []
    assert list(in_page("# Tiers\n\nA tier holds blocks.\n")) == []
