"""A title for a conversation to which no person gave one: from its first message at once, from the model later."""

import re

MAX_LENGTH = 60
MAX_WORDS = 8

REQUEST = "Give this conversation a short title of at most six words. Answer with the title alone."
BEGINNING, END = 'Title: "', '"'
"""Of the answer, which the model only has to go on with: small ones would else talk about a title."""

_AROUND = " \t\"'`*_#“”„‘’«»「」『』《》"
_HAN_OR_HANGUL = "\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff"
_STEM = re.compile(f"[{_HAN_OR_HANGUL}]|\\b[^\\W{_HAN_OR_HANGUL}]{{4}}")


FILE = '<file name="'
"""So a file begins that the page puts into a message, behind what was typed."""


def title_from(content: str) -> str:
    """The beginning of the text on one line, at most MAX_LENGTH characters, cut between words if it can be.

    Of files inside the message only the name of the first one counts.
    """
    typed, _, file = content.partition(FILE)
    name = file.partition('"')[0]
    text = " ".join(f"{typed} {name}".split())
    if len(text) <= MAX_LENGTH:
        return text
    room = MAX_LENGTH - 1
    at_word = text[: room + 1].rpartition(" ")[0]
    return (at_word or text[:room]).rstrip() + "…"


def title_by_model(answer: str, question: str) -> str | None:
    """The title in what a model said after BEGINNING: one line without quotes and marks around it.

    None if the first words of `question` are better: if this is a sentence and no title, or has no word in common with
    what was asked.
    """
    line = next(iter(answer.strip().splitlines()), "")
    title = " ".join(line.strip(_AROUND).removesuffix(".").split())
    if len(title) > MAX_LENGTH or len(title.split(" ")) > MAX_WORDS or not _stems(title) & _stems(question):
        return None
    return title


def _stems(text: str) -> set[str]:
    """The first four letters of words that have as many, and characters that are words."""
    return set(_STEM.findall(text.casefold()))
