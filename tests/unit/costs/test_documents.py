"""Documents that people attach: each format that the server reads, in the child's own function."""

import io
from collections.abc import Callable
from functools import partial
from typing import Any, Final

import openpyxl
import pptx
from pptx.util import Inches

from app.documents.formats import text_of
from app.documents.refusal import UnreadableError
from tests.cost_rows import MOST_GROWTH, CostRow, for_each, growth
from tests.document_files import docx, docx_paragraph, epub, zip_of
from tests.sizes import Size

HTML: Final = (
    ("paragraphs", "<p>a</p>"),
    ("opened elements", "<b>"),
    ("ended elements", "<i><b></i>"),
    ("comments", "<!--a-->"),
    ("begun comments", "<!--"),
    ("begun declarations", "<![CDATA["),
    ("begun elements", "<a "),
    ("begun ends", "</"),
    ("begun scripts", "<script>"),
    ("attributes", "<a b=c>d</a>"),
    ("quotes", "<a b='"),
    ("entities", "&amp;&#x61;&a"),
    ("tables", "<table><tr><td>a</td></tr></table>"),
    ("rows", "<tr><td>a"),
    ("lists", "<ul><li>a</ul>"),
    ("items", "<li>a"),
    ("line breaks", "a<br>\n"),
    ("spaces", " \n"),
    ("stars", "*_`"),
    ("preformatted lines", "<pre>\n"),
    ("headings", "<h1>a</h1>"),
    ("quotations", "<blockquote>a</blockquote>"),
)


def html(part: str) -> Callable[[int], bytes]:
    return lambda size: part.encode() * size


def letter(part: str) -> Callable[[int], bytes]:
    return lambda size: docx(part * size)


def book(size: int) -> bytes:
    """Return a book whose reading order names one chapter again and again."""
    order = '<itemref idref="one"/>' * size
    package = f'<package><manifest><item id="one" href="2.xhtml"/></manifest><spine>{order}</spine></package>'
    return epub(**{"text/book.opf": package, "text/2.xhtml": "<p>a</p>" * size})


def book_of_chapters(size: int) -> bytes:
    items = "".join(f'<item id="c{each}" href="c{each}.xhtml"/>' for each in range(size))
    order = "".join(f'<itemref idref="c{each}"/>' for each in range(size))
    package = f"<package><manifest>{items}</manifest><spine>{order}</spine></package>"
    chapters = {f"text/c{each}.xhtml": "<p>a</p>" for each in range(size)}
    encrypted = "<a>" + "<b>none of them</b>" * size + "</a>"
    return epub(**{"text/book.opf": package, "META-INF/encryption.xml": encrypted}, **chapters)


def sheet(fill: Callable[[Any, int], object]) -> Callable[[int], bytes]:
    def make(size: int) -> bytes:
        book, file = openpyxl.Workbook(), io.BytesIO()
        fill(book.active, size)
        book.save(file)
        return file.getvalue()

    return make


def rows(sheet: Any, size: int) -> None:
    for _ in range(size):
        sheet.append(["a", 1.5])


def column_of_texts(sheet: Any, size: int) -> None:
    for each in range(size):
        sheet.append([f"text {each}"])


def columns(sheet: Any, size: int) -> None:
    sheet.append(["a"] * size)


def slides(size: int) -> bytes:
    deck, file = pptx.Presentation(), io.BytesIO()
    for _ in range(size):
        deck.slides.add_slide(deck.slide_layouts[5]).shapes.title.text = "a"
    deck.save(file)
    return file.getvalue()


def table_on_slide(size: int) -> bytes:
    deck, file = pptx.Presentation(), io.BytesIO()
    slide = deck.slides.add_slide(deck.slide_layouts[5])
    slide.shapes.add_table(size, 2, Inches(1), Inches(2), Inches(4), Inches(1))
    deck.save(file)
    return file.getvalue()


NOTE: Final = '<w:p><w:r><w:footnoteReference w:id="1"/></w:r></w:p>'
LINK: Final = '<w:p><w:hyperlink w:anchor="a"><w:r><w:t>a</w:t></w:r></w:hyperlink></w:p>'
CELL: Final = "<w:tbl><w:tr><w:tc><w:p/></w:tc></w:tr></w:tbl>"
read_page: Final = partial(text_of, is_html=True)
read_office: Final = partial(text_of, is_html=False)
REFUSALS: Final = (UnreadableError, RecursionError, ValueError, KeyError, TypeError, AssertionError)
"""What a damaged file makes a parser raise. The child turns any error into a refusal."""

ROWS: Final = (
    *(CostRow(f"page of {name}", html(part), read_page, 25, 1_000, REFUSALS) for name, part in HTML),
    CostRow("letter of paragraphs", letter(docx_paragraph("a")), read_office, 10, 1_000, REFUSALS),
    CostRow("letter of links", letter(LINK), read_office, 10, 1_000, REFUSALS),
    CostRow("letter of tables", letter(CELL), read_office, 10, 1_000, REFUSALS),
    CostRow("letter of notes", letter(NOTE), read_office, 10, 1_000, REFUSALS),
    CostRow("book of one chapter", book, read_office, 20, 200, REFUSALS),
    CostRow("book of chapters", book_of_chapters, read_office, 8, 1_000, REFUSALS),
    CostRow("workbook of rows", sheet(rows), read_office, 20, 4_000, REFUSALS),
    CostRow("workbook of texts", sheet(column_of_texts), read_office, 20, 4_000, REFUSALS),
    CostRow("workbook of columns", sheet(columns), read_office, 40, 4_000, REFUSALS),
    CostRow("presentation of slides", slides, read_office, 2, 50, REFUSALS),
    CostRow("presentation of a table", table_on_slide, read_office, 4, 200, REFUSALS),
    CostRow("archive of parts", lambda n: zip_of({f"a{i}": "" for i in range(n)}), read_office, 500, 2_400, REFUSALS),
)


@for_each(ROWS)
def test_cost_grows_in_proportion_to_input(row: CostRow, size: Size) -> None:
    assert growth(row, size.pick(small=row.size, full=row.full)) <= MOST_GROWTH
