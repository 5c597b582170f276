"""Markdown on the page of a shared chat: hostile answers and broken ones, of which only harmless elements remain."""

import re
from html.parser import HTMLParser

import pytest

from app.conversations.shared_markdown import MAX_FORMULAS, RenderTimeError, SharedMarkdown

ELEMENT = re.compile(
    "a|b|blockquote|br|code|details|div|em|hr|kbd|li|math|mi|mn|mo|mrow|mspace|mstyle|mtext|ol|p|pre|section|strong|sub|"
    "summary|sup|table|tbody|td|th|thead|tr|ul"
)
ATTRIBUTE = re.compile("class|dir|display|height|href|id|mathbackground|mathcolor|open|rel|stretchy|width")


class Tags(HTMLParser):
    """The start tags of a text."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.seen = list[tuple[str, dict[str, str | None]]]()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append((tag, dict(attrs)))


def rendered(text: str) -> str:
    return SharedMarkdown().render(text)


@pytest.mark.parametrize(
    "answer",
    [
        '<kbd onclick=alert(1) style="position: fixed">x</kbd>',
        "<sub><script>alert(1)</script></sub><style>*{}</style>",
        "<details open ontoggle=alert(1)>x</details>",
        "<details>\n<summary onclick=alert(1)>x</summary>\n<iframe src=//example.org>\n</details>",
        "$\\href{javascript:alert(1)}{x}$",
        "$\\text{<script>alert(1)</script>}$ and $<img src=x onerror=alert(1)>$",
        "$\\text{&lt;img src=x onerror=alert(1)&gt;}$",
        "$\\unicode{x3c}\\text{script}\\unicode{x3e}$",
        "$\\style{position: fixed}{x} \\class{speaker}{y}$",
        '$\\color{red" onclick="alert(1)}{y}$',
        "$$\\rule{999em}{999em} \\hspace{-99em} x$$",
        '[^"onclick=x]\n\n[^"onclick=x]: <b onclick=x>note',
        "![x](javascript:alert(1)) [x](data:text/html;base64,AAAA)",
        "[x](data:image/png;base64,AAAA) ![y](data:image/png;base64,AAAA)",
        "[![a](https://example.org/i)](https://example.org)",
        "<sub>*a</sub>* </kbd> <mark> </details>\n<details>\n> <sup>b\n</sup>",
    ],
)
def test_hostile_answer_leaves_only_harmless_elements(answer: str) -> None:
    for tag, attributes in Tags(rendered(answer)).seen:
        assert ELEMENT.fullmatch(tag)
        assert all(map(ATTRIBUTE.fullmatch, attributes))
        assert (attributes.get("class") or "footnote").startswith("footnote")
        assert (attributes.get("href") or "#").startswith(("#fn", "https://example.org")) or "href" not in attributes
        assert "9em" not in f"{attributes.get('width')} {attributes.get('height')}"


@pytest.mark.parametrize(
    ("answer", "shown"),
    [
        ("<sub>" * 5_000, "&lt;sub&gt;"),
        ("<sub>" * 500 + "x" + "</sub>" * 500, "x"),
        ("<details>" * 500, "&lt;details&gt;"),
        ("<details></details>" * 500, "&lt;details&gt;"),
        ("<details>\n" * 500, "&lt;details&gt;"),
        ("\\[\n" * 1_000, "[\n["),
        (f"${'{' * 1_500}x$", "{{x"),
        ("$\\def\\a{\\b\\b}\\def\\b{\\c\\c}\\a$", "$\\def\\a"),
        (f"${'x' * 3_000}$", "$xxx"),
        ("$x$ " * (MAX_FORMULAS + 1), "</math> $x$"),
    ],
)
def test_excess_is_shown_as_it_is_written(answer: str, shown: str) -> None:
    assert shown in rendered(answer)


def test_foldable_block_ends_where_the_chat_ends_it() -> None:
    text = rendered("- <details open>\n  <summary>a</summary>\n\n  ```\n  </details>\n  ```\n  </details> b\n- c\n\nd")
    assert '<details open="">' in text
    assert "<code>&lt;/details&gt;\n</code>" in text
    assert text.index("</details>\n") < text.index("b")
    assert "<details" not in rendered("a <details>\n    <details>")


def test_footnotes_of_two_answers_have_their_own_places() -> None:
    markdown = SharedMarkdown()
    first, second = (markdown.render("A.[^1]\n\n[^1]: b") for _ in range(2))
    assert 'href="#fn-1-1"' in first
    assert 'href="#fn-2-1"' in second


def test_rendering_ends_when_its_time_is_over() -> None:
    now = iter(range(1_000_000))
    markdown = SharedMarkdown(clock=lambda: float(next(now)))
    with pytest.raises(RenderTimeError):
        markdown.render("![" * 10_000)
    # Later answers of the page have no time left either.
    with pytest.raises(RenderTimeError):
        markdown.render("a *b*\n\n" * 100)


def test_each_block_has_its_own_direction_and_diffs_their_marks() -> None:
    shown = SharedMarkdown().render("مرحبا\n\n- one\n\n```diff\n+ a<b\n- c\n d\n```")
    assert '<p dir="auto">مرحبا</p>' in shown
    assert '<ul dir="auto">' in shown
    assert "<ins>+ a&lt;b</ins>\n<del>- c</del>\n d\n</code>" in shown
