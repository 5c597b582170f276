"""Titles of conversations that no user has named: from the first message at once, from the model later."""

import re

from app.domain.attached_files import MARK

MAX_LENGTH = 60
MAX_WORDS = 8

REQUEST = "Give this conversation a short title of at most six words. Answer with the title alone."
BEGINNING, END = 'Title: "', '"'
"""Start and end of the model's answer. The start is part of the prompt: without it, small models write about titles
instead of giving one.
"""

_AROUND = " \t\"'`*_#“”„‘’«»「」『』《》"
_HAN_OR_HANGUL = "\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff"
_STEM = re.compile(f"[{_HAN_OR_HANGUL}]|\\b[^\\W{_HAN_OR_HANGUL}]{{4}}")


def title_from(content: str) -> str:
    """Return the beginning of the text on one line, at most MAX_LENGTH characters, cut between words if possible.

    Files in the message are no part of it: the name of the first one is used if nothing was typed.
    """
    typed, _, file = content.partition(MARK)
    text = " ".join(typed.split()) or " ".join(file.partition('"')[0].split())
    if len(text) <= MAX_LENGTH:
        return text
    room = MAX_LENGTH - 1
    at_word = text[: room + 1].rpartition(" ")[0]
    return (at_word or text[:room]).rstrip() + "…"


def title_by_model(answer: str, question: str) -> str | None:
    """Extract the title from the model's answer after BEGINNING: one line, stripped of quotes and markup.

    Returns None if the answer is a sentence, or shares no word with the question. In those cases the first words of
    `question` make a better title.
    """
    line = next(iter(answer.strip().splitlines()), "")
    title = " ".join(line.strip(_AROUND).removesuffix(".").split())
    if len(title) > MAX_LENGTH or len(title.split(" ")) > MAX_WORDS or not _stems(title) & _stems(question):
        return None
    return title


def _stems(text: str) -> set[str]:
    """Return the first four letters of all words that are long enough, and each character that is a separate word."""
    return set(_STEM.findall(text.casefold()))
