"""Small PDF files: with text, without text, password-protected, and with an East Asian font."""

LOCK = b"<< /Filter /Standard /V 1 /R 2 /O <%s> /U <%s> /P -4 >>" % (b"ab" * 32, b"cd" * 32)
LATIN = b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>"
CHINESE = (
    b"<< /Type /Font /Subtype /Type0 /BaseFont /STSong-Light /Encoding /UniGB-UCS2-H "
    b"/DescendantFonts [<< /Type /Font /Subtype /CIDFontType0 /BaseFont /STSong-Light "
    b"/CIDSystemInfo << /Registry (Adobe) /Ordering (GB1) /Supplement 2 >> "
    b"/FontDescriptor << /Type /FontDescriptor /FontName /STSong-Light /Flags 4 >> >>] >>"
)


def latin(text: str) -> bytes:
    """Build the content of a page with one line of ASCII text."""
    return b"BT /F1 12 Tf 72 720 Td (%s) Tj ET" % text.encode("ascii")


def chinese(text: str) -> bytes:
    """Build the content of a page whose text is in UCS-2, the encoding that its font declares."""
    return b"BT /F2 12 Tf 72 720 Td <%s> Tj ET" % text.encode("utf-16-be").hex().encode()


def pdf_of(*pages: bytes, locked: bool = False) -> bytes:
    """Build a PDF file from the contents of its pages. With `locked`, opening the file requires a password."""
    first = 5
    kids = b" ".join(b"%d 0 R" % (first + 2 * index) for index in range(len(pages)))
    objects = [b"<< /Type /Catalog /Pages 2 0 R >>", b"<< /Type /Pages /Kids [%s] /Count %d >>" % (kids, len(pages))]
    objects += [LATIN, CHINESE]
    for index, content in enumerate(pages):
        fonts = b"/Resources << /Font << /F1 3 0 R /F2 4 0 R >> >>"
        place = b"/Parent 2 0 R /MediaBox [0 0 612 792] /Contents %d 0 R" % (first + 2 * index + 1)
        objects.append(b"<< /Type /Page %s %s >>" % (place, fonts))
        objects.append(b"<< /Length %d >>\nstream\n%s\nendstream" % (len(content), content))
    file, places = b"%PDF-1.7\n", []
    for number, body in enumerate(objects, start=1):
        places.append(len(file))
        file += b"%d 0 obj\n%s\nendobj\n" % (number, body)
    table = b"".join(b"%010d 00000 n \n" % place for place in places)
    lock = b"/Encrypt %s /ID [<00> <00>]" % LOCK if locked else b""
    size = len(objects) + 1
    trailer = b"trailer\n<< /Size %d /Root 1 0 R %s >>\nstartxref\n%d\n%%%%EOF\n" % (size, lock, len(file))
    return file + b"xref\n0 %d\n0000000000 65535 f \n" % size + table + trailer
