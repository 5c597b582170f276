"""The text of a rendered answer, and of its elements, as the cases of both renderers expect them."""

import re
from html.parser import HTMLParser
from typing import Final

_BLOCKS: Final = frozenset(("p", "li", "td", "th", "pre", "h1", "h2", "h3", "h4", "h5", "h6", "summary", "br", "math"))
_ELEMENTS: Final = {
    "strong": ("strong",),
    "em": ("em",),
    "struck": ("s", "del"),
    "cells": ("th", "td"),
    "formulas": ("math",),
}


class Shown(HTMLParser):
    """Text and elements of some HTML, as a reader sees them."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.elements: dict[str, list[str]] = {name: [] for name in (*_ELEMENTS, "code", "blocks", "links")}
        self.tasks = list[bool]()
        self._text = ""
        self._open = list[tuple[str, int, int]]()
        self._in_block = False
        self.feed(html)
        self.close()

    @property
    def text(self) -> str:
        """The text, with single spaces."""
        return re.sub(r"\s+", " ", self._text).strip()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note where an element begins."""
        attributes = dict(attrs)
        if tag in ("pre", "br"):
            self._text += " "
        if tag == "pre":
            self._in_block = True
        if tag == "input":
            self.tasks.append("checked" in attributes)
        elif tag == "a" and not str(attributes.get("href", "#")).startswith("#"):
            self.elements["links"].append(str(attributes["href"]))
        name = next((name for name, tags in _ELEMENTS.items() if tag in tags), None)
        if tag == "code":
            name = "blocks" if self._in_block else "code"
        if name is not None:
            self.elements[name].append("")
            self._open.append((name, len(self.elements[name]) - 1, len(self._text)))

    def handle_endtag(self, tag: str) -> None:
        """Note the text of an element."""
        if tag in ("code", *(tag for tags in _ELEMENTS.values() for tag in tags)):
            name, index, begin = self._open.pop()
            self.elements[name][index] = self._text[begin:].strip()
        if tag == "pre":
            self._in_block = False
        if tag in _BLOCKS and tag != "math":
            self._text += " "

    def handle_data(self, data: str) -> None:
        """Take a text."""
        self._text += data
