"""Right-to-left text, and text of both directions in one message."""

from tests.e2e.chat_page import ChatPage
from tests.e2e.showcase import one_turn
from tests.sizes import PAGE

pytestmark = PAGE

QUESTION = "מהי גאות?\nWhat is a tide (in short)?"
ANSWER = r"""הירח מושך את הים, לפי $a \approx 1/r^3$ ולפי `height(1)`.

- צד קרוב
- near side.

> ציטוט

- [x] לבדוק

| מקום | גובה |
| --- | ---: |
| Fundy | 16 |

This is English, in the same answer.

```python
print(1)
```
"""
# The side, left or right, on which each kind of block in an answer starts.
SIDES = """() => {
    const text = (node) => {
        const range = document.createRange();
        const texts = document.createTreeWalker(node, NodeFilter.SHOW_TEXT);
        do range.selectNodeContents(texts.nextNode());
        while (range.toString().trim() === "");
        return [...range.getClientRects()].at(0);
    };
    const block = document.querySelector("article:last-of-type .markdown").getBoundingClientRect();
    const side = ({left, right}) => (left - block.left < block.right - right ? "left" : "right");
    const of = (selector) => side(text(document.querySelector(`.markdown ${selector}`)));
    const [near, english] = document.querySelectorAll(".markdown li");
    return {
        paragraph: of("p"),
        items: [side(text(near)), side(text(english))],
        quote: getComputedStyle(document.querySelector("blockquote")).borderRightWidth !== "0px" ? "right" : "left",
        box: side(document.querySelector(".markdown li input").getBoundingClientRect()),
        table: side(document.querySelector(".markdown th").getBoundingClientRect()),
        cells: [...document.querySelectorAll(".markdown td")].map((cell) => getComputedStyle(cell).direction),
        english: side(text([...document.querySelectorAll(".markdown p")].at(-1))),
        code: of("pre code"),
    };
}"""
# Whether formulas and code inside a right-to-left line keep their left-to-right order.
IN_ORDER = """() => {
    const across = (selector) =>
        [...document.querySelectorAll(selector)].map((element) => element.getBoundingClientRect().left);
    const code = document.querySelector(".markdown p code");
    const at = (offset) => {
        const range = document.createRange();
        range.setStart(code.firstChild, offset);
        range.setEnd(code.firstChild, offset + 1);
        return range.getBoundingClientRect().left;
    };
    const rising = (places) => places.every((place, index) => index === 0 || place >= places[index - 1]);
    return {
        formula: rising(across(".markdown p .katex-html > .base")),
        code: rising([...code.textContent].map((_, offset) => at(offset))),
    };
}"""
LINES = """() => {
    const field = document.querySelector("[data-testid=question] > div");
    const range = document.createRange();
    range.selectNodeContents(field);
    const [first, second] = [...range.getClientRects()].filter(({width}) => width > 1);
    const {left, right} = field.getBoundingClientRect();
    return [right - first.right < 2, second.left - left < 2];
}"""


async def test_each_block_of_answer_has_its_own_direction(chat: ChatPage) -> None:
    await chat.open_imported(one_turn("גאות", QUESTION, ANSWER))
    await chat.page.locator(".katex").first.wait_for()
    assert await chat.page.evaluate(SIDES) == {
        "paragraph": "right",
        "items": ["right", "right"],
        "quote": "right",
        "box": "right",
        "table": "right",
        "cells": ["rtl", "rtl"],
        "english": "left",
        "code": "left",
    }
    # Formulas and code belong to no language and keep the order in which they were written.
    assert await chat.page.evaluate(IN_ORDER) == {"formula": True, "code": True}
    assert await chat.page.evaluate(LINES) == [True, True]
