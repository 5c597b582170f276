"""Files that the page adds to a message as text, after the typed text."""

import re
from dataclasses import dataclass
from typing import Final

MARK: Final = '<file name="'
"""Start of a file."""

_FILES: Final = re.compile(r'(?:^|\n\n)<file name="([^"\n]*)">\n(.*?)\n</file>(?=$|\n\n<file name=")', re.DOTALL)
_BEGINNING: Final = re.compile(r'<file name="([^"\n]*)">\n')
_END: Final = "\n</file>"


@dataclass(frozen=True, slots=True)
class AttachedFile:
    """A file in a message."""

    name: str
    text: str


def split_files(content: str) -> tuple[str, list[AttachedFile]]:
    """Return the typed text of a message and its files. A person may write a message in the same form."""
    found = list(_FILES.finditer(content)) if content.endswith(_END) else []
    typed = content[: found[0].start()] if found else content
    return typed, [AttachedFile(each[1], each[2]) for each in found]


def in_plain_words(text: str) -> str:
    """Return a part of a message with the name of a file in place of each mark of a file."""
    if MARK not in text and _END not in text:
        return text
    return _BEGINNING.sub(r"\1: ", text).replace(_END, "")
