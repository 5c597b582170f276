"""The form of signatures, checked before one is verified: only what takes time in proportion to the document.

A signature names the algorithms that prepare its verification, and they run before any of it is verified. Inclusive
canonicalization takes the square of the namespaces for each element.
"""

import io
from typing import Final

from lxml import etree

from app.accounts.saml.xml import DS, Element

EXCLUSIVE: Final = "http://www.w3.org/2001/10/xml-exc-c14n#"
CANONICALIZATIONS: Final = frozenset({EXCLUSIVE, f"{EXCLUSIVE}WithComments"})
ENVELOPED: Final = f"{DS}enveloped-signature"
TRANSFORMS: Final = CANONICALIZATIONS | {ENVELOPED}
"""The transforms that SAML allows (SAML Core, section 5.4.4)."""

MAX_NAMESPACES: Final = 64
"""Namespaces in scope at one place. Providers declare about ten."""

MAX_PREFIXES: Final = 64
"""Prefixes that a canonicalization treats inclusively."""

MAX_SIGNED_INFO: Final = 32
"""Elements of the signed information. One reference with its transforms takes about ten."""


def check_namespaces(data: bytes) -> None:
    """Check the number of namespaces in scope. Raise ValueError, also for a document that is not XML."""
    in_scope = 0
    parsed = etree.iterparse(
        io.BytesIO(data),
        events=("start-ns", "end-ns"),
        resolve_entities=False,
        no_network=True,
        load_dtd=False,
        huge_tree=False,
    )
    try:
        for event, _ in parsed:
            in_scope += 1 if event == "start-ns" else -1
            if in_scope > MAX_NAMESPACES:
                raise ValueError(f"more than {MAX_NAMESPACES} namespaces are in scope at one place")
    except etree.XMLSyntaxError as error:
        raise ValueError(f"not XML: {error}") from error


def check_signatures(root: Element) -> None:
    """Check each signature of a document. Raise ValueError."""
    for signed_info in root.iter(f"{{{DS}}}SignedInfo"):
        if sum(1 for _ in signed_info.iter()) > MAX_SIGNED_INFO:
            raise ValueError(f"the information that a signature covers has more than {MAX_SIGNED_INFO} elements")
        for method in signed_info.iter(f"{{{DS}}}CanonicalizationMethod"):
            _check_algorithm(method, CANONICALIZATIONS)
        for reference in signed_info.iter(f"{{{DS}}}Reference"):
            transforms = list(reference.iter(f"{{{DS}}}Transform"))
            for transform in transforms:
                _check_algorithm(transform, TRANSFORMS)
            # Without one, the library canonicalizes inclusively.
            if not any(each.get("Algorithm") in CANONICALIZATIONS for each in transforms):
                raise ValueError("a signature does not name exclusive canonicalization among its transforms")


def _check_algorithm(element: Element, allowed: frozenset[str]) -> None:
    algorithm = element.get("Algorithm")
    if algorithm not in allowed:
        raise ValueError(f"a signature uses {algorithm}: choose exclusive canonicalization at the provider")
    for child in element:
        if child.tag != f"{{{EXCLUSIVE}}}InclusiveNamespaces" or len(child):
            raise ValueError(f"an algorithm of a signature contains {child.tag}")
        if len(child.get("PrefixList", "").split()) > MAX_PREFIXES:
            raise ValueError(f"a signature names more than {MAX_PREFIXES} inclusive namespaces")
