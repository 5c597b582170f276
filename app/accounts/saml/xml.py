"""Names and safe parsing of the XML of SAML."""

from typing import Any, Final, TypeAlias

from lxml import etree

SAML: Final = "urn:oasis:names:tc:SAML:2.0:assertion"
SAMLP: Final = "urn:oasis:names:tc:SAML:2.0:protocol"
METADATA: Final = "urn:oasis:names:tc:SAML:2.0:metadata"
DS: Final = "http://www.w3.org/2000/09/xmldsig#"
NAMES: Final = {"saml": SAML, "samlp": SAMLP, "md": METADATA, "ds": DS}
REDIRECT: Final = "urn:oasis:names:tc:SAML:2.0:bindings:HTTP-Redirect"
POST: Final = "urn:oasis:names:tc:SAML:2.0:bindings:HTTP-POST"

Element: TypeAlias = Any
"""An element of lxml, which has no types."""


def parse_xml(data: bytes) -> Element:
    """Parse a document without entities, without a document type and without access to other files.

    Raise ValueError.
    """
    parser = etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False, huge_tree=False)
    try:
        root = etree.fromstring(data, parser)
    except etree.XMLSyntaxError as error:
        raise ValueError(f"not XML: {error}") from error
    if root.getroottree().docinfo.doctype:
        raise ValueError("a document type is not allowed")
    return root


def children(element: Element, path: str) -> list[Element]:
    """Return the elements at a path, such as `saml:Subject/saml:NameID`."""
    found: list[Element] = element.findall(path, NAMES)
    return found


def only_child(element: Element, path: str) -> Element:
    """Return the only element at a path. Raise ValueError."""
    found = children(element, path)
    if len(found) != 1:
        raise ValueError(f"{len(found)} elements {path} in place of one")
    return found[0]


def text_of(element: Element) -> str:
    """Return the whole text of an element, without the space around it."""
    return "".join(str(part) for part in element.itertext()).strip()
