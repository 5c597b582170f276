"""Texts of docx, xlsx, pptx, epub and HTML files. Only the child process imports the parsers of such files."""

import csv
import posixpath
import zipfile
from collections.abc import Iterable, Iterator
from io import BytesIO, StringIO
from typing import Any, Final
from urllib.parse import unquote

from app.documents.refusal import Refusal, UnreadableError

MAX_UNPACKED_BYTES: Final = 256 << 20
MAX_PARTS: Final = 10_000
"""Unpacked bytes and parts of a zip file, as its directory declares them. No part yields more than it declares."""

INVISIBLE: Final = ["script", "style", "template", "noscript", "svg", "head", "title"]


def text_of(data: bytes, *, is_html: bool) -> str:
    """Return the text of a document, as Markdown. Raise UnreadableError, and anything at all on a damaged file.

    The format is recognized by the content, except for HTML.
    """
    if is_html:
        return _html(data)
    if not zipfile.is_zipfile(BytesIO(data)):
        raise UnreadableError(Refusal.UNKNOWN)
    with zipfile.ZipFile(BytesIO(data)) as archive:
        parts = archive.infolist()
        if len(parts) > MAX_PARTS or sum(part.file_size for part in parts) > MAX_UNPACKED_BYTES:
            raise UnreadableError(Refusal.TOO_COSTLY)
        names = {part.filename for part in parts}
        if "word/document.xml" in names:
            return _letter(data)
        if "xl/workbook.xml" in names:
            return _workbook(data)
        if "ppt/presentation.xml" in names:
            return _presentation(data)
        if "META-INF/container.xml" in names:
            return "\n\n".join(_html(archive.read(name)) for name in _chapters(archive, names))
    raise UnreadableError(Refusal.UNKNOWN)


# Each parser is imported where its format is read: all of them together take seconds.


def _letter(data: bytes) -> str:
    import mammoth

    return _html(mammoth.convert_to_html(BytesIO(data)).value.encode())


def _html(data: bytes) -> str:
    from bs4 import BeautifulSoup
    from markdownify import MarkdownConverter

    # Python's own parser takes the square of a text of unfinished tags, in versions before 3.13.6.
    soup = BeautifulSoup(data, "lxml")
    for hidden in soup(INVISIBLE):
        hidden.decompose()
    return str(MarkdownConverter(heading_style="ATX", strip=["img"]).convert_soup(soup))


def _workbook(data: bytes) -> str:
    """Return each sheet under a heading, as comma-separated values. Formulas appear as their last results."""
    import openpyxl

    book = openpyxl.load_workbook(BytesIO(data), read_only=True, data_only=True, keep_links=False)
    text = StringIO()
    for sheet in book.worksheets:
        # A sheet may declare a size with nothing in it.
        sheet.reset_dimensions()
        text.write(f"## {sheet.title}\n\n")
        rows = csv.writer(text, lineterminator="\n")
        for row in sheet.iter_rows(values_only=True):
            filled = [value if value is not None else "" for value in row]
            while filled and filled[-1] == "":
                filled.pop()
            if filled:
                rows.writerow(filled)
        text.write("\n")
    return text.getvalue()


def _presentation(data: bytes) -> str:
    """Return the texts, tables and notes of each slide, under a heading."""
    import pptx

    slides = []
    for number, slide in enumerate(pptx.Presentation(BytesIO(data)).slides, start=1):
        texts = [text for text in _texts(slide.shapes) if text.strip()]
        notes = slide.notes_slide.notes_text_frame if slide.has_notes_slide else None
        if notes is not None and notes.text.strip():
            texts.append(f"Notes: {notes.text}")
        slides.append("\n\n".join([f"## Slide {number}", *texts]))
    return "\n\n".join(slides)


def _texts(shapes: Iterable[Any]) -> Iterator[str]:
    for shape in shapes:
        if hasattr(shape, "shapes"):
            yield from _texts(shape.shapes)
        elif getattr(shape, "has_table", False):
            # The library's own collections look each row and each cell up from the first one on.
            rows = shape.element.graphic.graphicData.tbl.tr_lst
            yield "\n".join(" | ".join(cell.text for cell in row.tc_lst) for row in rows)
        elif shape.has_text_frame:
            yield shape.text_frame.text


def _chapters(archive: zipfile.ZipFile, names: set[str]) -> Iterator[str]:
    """Yield the parts of an epub in reading order, each once. Raise UnreadableError for an encrypted one."""
    from defusedxml import ElementTree

    container = ElementTree.fromstring(archive.read("META-INF/container.xml"))
    package = next(element.attrib["full-path"] for element in container.iter() if _name(element) == "rootfile")
    root = ElementTree.fromstring(archive.read(package))
    places = {
        element.attrib["id"]: posixpath.normpath(
            posixpath.join(posixpath.dirname(package), unquote(element.attrib["href"]))
        )
        for element in root.iter()
        if _name(element) == "item"
    }
    order = (places.get(element.attrib["idref"], "") for element in root.iter() if _name(element) == "itemref")
    encrypted = _encrypted(archive) if "META-INF/encryption.xml" in names else set[str]()
    for name in dict.fromkeys(order):
        if name in encrypted:
            raise UnreadableError(Refusal.ENCRYPTED)
        if name in names:
            yield name


def _encrypted(archive: zipfile.ZipFile) -> set[str]:
    """Return the names of the encrypted parts of an epub."""
    from defusedxml import ElementTree

    root = ElementTree.fromstring(archive.read("META-INF/encryption.xml"))
    return {unquote(element.attrib["URI"]) for element in root.iter() if _name(element) == "CipherReference"}


def _name(element: Any) -> str:
    return str(element.tag).rpartition("}")[2]
