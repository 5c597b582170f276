"""Colours of code on the page of a shared chat."""

import html
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.conversations.shared_code import CLASSES, NAMES, coloured
from app.conversations.shared_markdown import RenderTimeError, SharedMarkdown

PART = re.compile(r'<span class="(\w+)">([^<]*)</span>')


def parts(code: str, language: str) -> list[tuple[str, str]]:
    """Return the parts of a code that have a colour."""
    shown = coloured(code, language, lambda: None)
    assert shown is not None
    assert html.unescape(re.sub("<[^>]*>", "", shown)) == code
    return [(kind, html.unescape(text)) for kind, text in PART.findall(shown)]


@pytest.mark.parametrize(
    ("language", "code", "coloured_parts"),
    [
        (
            "python",
            'def tide(h=1.5):  # high\n    return f"{h} m"',
            [
                ("keyword", "def"),
                ("number", "1.5"),
                ("comment", "# high"),
                ("keyword", "return"),
                ("string", 'f"{h} m"'),
            ],
        ),
        ("py", '"""a\n# b"""\nx = y1', [("string", '"""a\n# b"""')]),
        (
            "ts",
            'const a: number = 0xff; // "x"\nlet s = `a\n${b}`',
            [
                ("keyword", "const"),
                ("keyword", "number"),
                ("number", "0xff"),
                ("comment", '// "x"'),
                ("keyword", "let"),
                ("string", "`a\n${b}`"),
            ],
        ),
        ("rust", "fn a<'b>(x: &'b str) -> char { 'c' }", [("keyword", "fn"), ("string", "'c'")]),
        (
            "c++",
            "int a = 5u; /* b\n*/ 'x'",
            [("keyword", "int"), ("number", "5u"), ("comment", "/* b\n*/"), ("string", "'x'")],
        ),
        (
            "bash",
            'for f in *; do echo "$f" # all\ndone',
            [
                ("keyword", "for"),
                ("keyword", "in"),
                ("keyword", "do"),
                ("keyword", "echo"),
                ("string", '"$f"'),
                ("comment", "# all"),
                ("keyword", "done"),
            ],
        ),
        (
            "SQL",
            "SELECT 'it''s' -- x\nFROM t",
            [("keyword", "SELECT"), ("string", "'it''s'"), ("comment", "-- x"), ("keyword", "FROM")],
        ),
        ("yaml", "a: http://b#c # d\ne: true", [("comment", "# d"), ("keyword", "true")]),
        ("json", '{"a": [1e3, null]}', [("string", '"a"'), ("number", "1e3"), ("keyword", "null")]),
        (
            "html",
            '<a href="x">y</a> <!-- z -->',
            [
                ("keyword", "<a"),
                ("string", '"x"'),
                ("keyword", ">"),
                ("keyword", "</a"),
                ("keyword", ">"),
                ("comment", "<!-- z -->"),
            ],
        ),
        ("scss", "a { b: url(http://c) } // d", [("comment", "// d")]),
    ],
)
def test_parts_of_code_have_their_colours(language: str, code: str, coloured_parts: list[tuple[str, str]]) -> None:
    assert parts(code, language) == coloured_parts


def test_unknown_language_has_no_colours() -> None:
    assert coloured("a", "mermaid", lambda: None) is None
    assert coloured("a", "", lambda: None) is None


@given(st.text(st.sampled_from("'\"`#/*-<>!\\\n ax0.$[]_é\0")), st.sampled_from(" ".join(NAMES).split()))
def test_code_keeps_every_character(code: str, language: str) -> None:
    assert all(kind in CLASSES for kind, _ in parts(code, language))


def test_code_of_an_answer_is_escaped_and_takes_of_its_time() -> None:
    answer = '```js\nlet a = "</code><script>" // <b>\n```\n'
    shown = SharedMarkdown().render(answer)
    assert '<span class="string">&quot;&lt;/code&gt;&lt;script&gt;&quot;</span>' in shown
    assert '<span class="comment">// &lt;b&gt;</span>' in shown
    clock = iter(range(10_000))
    with pytest.raises(RenderTimeError):
        SharedMarkdown(clock=lambda: float(next(clock))).render("```js\n" + "1 " * 1_000 + "\n```\n")
