"""Small documents of each format that the server reads."""

import io
import zipfile

import openpyxl
import pptx
from pptx.util import Inches

WORD = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
DOCX_PARTS = {
    "[Content_Types].xml": '<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">'
    '<Default Extension="xml" ContentType="application/xml"/>'
    '<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
    '<Override PartName="/word/document.xml" ContentType="'
    'application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml"/></Types>',
    "_rels/.rels": '<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships"><Relationship '
    'Id="r1" Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/officeDocument" '
    'Target="word/document.xml"/></Relationships>',
}
EPUB_PARTS = {
    "mimetype": "application/epub+zip",
    "META-INF/container.xml": '<container xmlns="urn:oasis:names:tc:opendocument:xmlns:container"><rootfiles>'
    '<rootfile full-path="text/book.opf"/></rootfiles></container>',
    "text/book.opf": '<package xmlns="http://www.idpf.org/2007/opf"><manifest>'
    '<item id="two" href="2.xhtml"/><item id="one" href="a%20b.xhtml"/></manifest>'
    '<spine><itemref idref="one"/><itemref idref="two"/></spine></package>',
    "text/a b.xhtml": "<html><head><title>x</title></head><body><h1>Ebb</h1></body></html>",
    "text/2.xhtml": "<html><body><p>High water at six.</p></body></html>",
}


def zip_of(parts: dict[str, str]) -> bytes:
    """Return a zip file with these parts."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in parts.items():
            archive.writestr(name, text)
    return file.getvalue()


def docx(body: str) -> bytes:
    """Return a docx file. body: paragraphs and tables in its markup."""
    document = f'<w:document xmlns:w="{WORD}"><w:body>{body}</w:body></w:document>'
    return zip_of({**DOCX_PARTS, "word/document.xml": document})


def docx_paragraph(text: str) -> str:
    """Return the markup of a paragraph."""
    return f"<w:p><w:r><w:t>{text}</w:t></w:r></w:p>"


def epub(**changed: str) -> bytes:
    """Return an epub file with two chapters."""
    return zip_of(EPUB_PARTS | changed)


def xlsx() -> bytes:
    """Return a workbook with one sheet."""
    book = openpyxl.Workbook()
    sheet = book.active
    sheet.title = "Tides"
    sheet.append(["day", "height, m"])
    sheet.append(["Monday", 4.5, None])
    file = io.BytesIO()
    book.save(file)
    return file.getvalue()


def pptx_file() -> bytes:
    """Return a presentation with one slide that has a title, a table and notes."""
    deck = pptx.Presentation()
    slide = deck.slides.add_slide(deck.slide_layouts[5])
    slide.shapes.title.text = "Spring tides"
    table = slide.shapes.add_table(1, 2, Inches(1), Inches(2), Inches(4), Inches(1)).table
    table.cell(0, 0).text, table.cell(0, 1).text = "Fundy", "16 m"
    slide.notes_slide.notes_text_frame.text = "Speak slowly"
    file = io.BytesIO()
    deck.save(file)
    return file.getvalue()
