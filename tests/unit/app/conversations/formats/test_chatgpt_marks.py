"""Marks in the texts of ChatGPT."""

import pytest

from app.conversations.formats.chatgpt_marks import readable


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('by \ue200entity\ue202["people","Ada Lovelace","x"]\ue201 in 1843', "by Ada Lovelace in 1843"),
        ('\ue200entity\ue202["Ada"]\ue201', "Ada"),
        ("\ue200entity\ue202Ada\ue201", "Ada"),
        ("\ue200entity\ue202[5]\ue201.", "."),
        ("\ue200entity\ue202[oh\ue201.", "."),
        ('\ue200entity\ue202["a", "Party \\ud83c"]\ue201', "Party \ufffd"),
        ("See \ue200url\ue202the engine page\ue202turn0\ue201", "See the engine page"),
        ("See \ue200url\ue202the page\ue202https://a.example/b\ue201", "See [the page](https://a.example/b)"),
        ("See \ue200link_title\ue202the page\ue202turn0search1\ue201.", "See the page."),
        ("\ue203A marked sentence.\ue204 And", "A marked sentence. And"),
        ("A boat.\ue200cite\ue202turn0search0\ue202turn1view2\ue201", "A boat."),
        ("A boat.\ue200filecite\ue202turn0file1\ue202L1-L20\ue201", "A boat."),
        ("\ue200navlist\ue202More news\ue202turn0news1,turn0news2\ue201", "More news"),
        ('\ue200image_group\ue202{"query":["boat"]}\ue201A', "A"),
        ('\ue200genui\ue202{"math_block":{"content":"a^2"}}\ue201', "a^2"),
        ("A boat.\ue202turn0search0 And", "A boat. And"),
        ("A boat.\ue200cite\ue202turn0search0", "A boat."),
        ("A boat.\ue200cite", "A boat."),
        ("\ue200map\ue201A\ue206", "A"),
        ("A boat【13†source】.", "A boat."),
        ("A boat【4:0†tides.pdf】.", "A boat (tides.pdf)."),
        ("A boat【5†L10-L20】.", "A boat."),
        ("【重要】A † b", "【重要】A † b"),
        ("plain ±", "plain ±"),
    ],
)
def test_marks_become_what_they_say(text: str, expected: str) -> None:
    assert readable(text, {}) == expected


def test_mark_becomes_the_text_that_the_file_has_for_it() -> None:
    references = {
        "\ue200cite\ue202turn0search0\ue201": "([a](https://a.example))",
        "【1†source】": "[b](https://b.example)",
    }
    text = "A \ue200cite\ue202turn0search0\ue201 B 【1†source】 C \ue200cite\ue202turn0search1\ue201"
    assert readable(text, references) == "A ([a](https://a.example)) B [b](https://b.example) C "
