"""The texts of the page of a shared chat, in the languages of the chat page."""

import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final


@dataclass(frozen=True, slots=True, kw_only=True)
class SharedPageTexts:
    """The texts in one language.

    lang: tag of the language (BCP 47), for the page's `lang`.
    group, point: separator of thousands, and the decimal separator.
    note: the dates, as {created} and {expires}.
    receipt: the numbers of a receipt, as {cached}, {prompt} and {seconds}.
    busy, later: shown when too many links are opened.
    """

    lang: str
    group: str
    point: str
    you: str
    untitled: str
    note: str
    cut: str
    receipt: str
    foot: str
    gone: str
    why: str
    busy: str
    later: str

    @property
    def direction(self) -> str:
        """Return the direction in which the language is written, for the page's `dir`."""
        return "rtl" if self.lang in _RIGHT_TO_LEFT else "ltr"

    def number(self, value: float, *, decimals: int = 0) -> str:
        """Write a number as readers of the language do."""
        whole, dot, rest = f"{value:,.{decimals}f}".partition(".")
        return whole.replace(",", self.group) + (self.point if dot else "") + rest


_FOLDER: Final = Path(__file__).parent / "shared_page_languages"
"""One file for each language, named after its tag."""

LANGUAGES: Final = {file.stem.lower(): file.stem for file in sorted(_FOLDER.glob("*.json"))}
"""Tags of the languages, by their lower-case forms."""

_RIGHT_TO_LEFT: Final = ("ar", "fa", "he", "ur")

_OTHER_TAGS: Final = {
    "in": "id",
    "iw": "he",
    "nn": "nb",
    "no": "nb",
    "pt": "pt-br",
    "tl": "fil",
    "zh-hk": "zh-hant",
    "zh-mo": "zh-hant",
    "zh-tw": "zh-hant",
}
"""Tags that browsers send for a language of the page, with the page's own tag."""


MAX_TAG: Final = 35
"""Characters of a language tag: what software is asked to take (RFC 5646, 4.4.1). Longer ones are ignored."""

MAX_RANGES: Final = 32
"""Ranges that are read. Browsers send fewer."""


def texts_for(languages: str) -> SharedPageTexts:
    """Return the texts in the language that a browser prefers among those of the page; English if it names none.

    languages: its Accept-Language. A tag stands for its beginnings as well (RFC 4647, 3.4).
    """
    ranges = (_range(each) for each in languages.split(",", MAX_RANGES)[:MAX_RANGES])
    wanted = sorted((each for each in ranges if each[1] > 0), key=lambda each: -each[1])
    return texts_in(next((tag for asked, _ in wanted if (tag := _language_of(asked)) is not None), "en"))


@cache
def texts_in(tag: str) -> SharedPageTexts:
    """Return the texts in one of `LANGUAGES`, with the English text in place of each one that its file lacks."""
    english, own = _file_of("en"), _file_of(tag)
    if tag in _RIGHT_TO_LEFT:
        # First strong isolate: keeps the order of an English sentence and its full stop.
        english = {name: f"\u2068{text}\u2069" for name, text in english.items()}
    # The chat page's tag of simplified Chinese leaves the script out.
    return SharedPageTexts(lang="zh-Hans" if tag == "zh" else tag, **english | own)


def _file_of(tag: str) -> dict[str, str]:
    texts: dict[str, str] = json.loads((_FOLDER / f"{tag}.json").read_text(encoding="utf-8"))
    return texts


def _language_of(asked: str) -> str | None:
    """Return the language of the page for a lower-case tag: of its longest beginning that is one."""
    while asked:
        tag = _OTHER_TAGS.get(asked, asked)
        if tag in LANGUAGES:
            return LANGUAGES[tag]
        asked = asked.rpartition("-")[0]
    return None


def _range(text: str) -> tuple[str, float]:
    """Return the tag of one range of Accept-Language and its weight (RFC 9110, 12.5.4).

    The weight is 0 if it is no number or the tag is too long.
    """
    tag, _, weight = text.partition(";")
    if len(tag.strip()) > MAX_TAG:
        return "", 0.0
    try:
        quality = float(weight.strip().lower().removeprefix("q=")) if weight.strip() else 1.0
    except ValueError:
        quality = 0.0
    return tag.strip().lower(), quality
