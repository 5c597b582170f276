"""The provider as its metadata describes it (OASIS, Metadata for SAML 2.0)."""

import base64
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from cryptography.x509 import Certificate, load_der_x509_certificate

from app.accounts.saml.xml import REDIRECT, Element, children, only_child, parse_xml, text_of
from app.config.parsers import is_loopback


@dataclass(frozen=True, slots=True)
class IdentityProvider:
    """The provider.

    entity_id: its name, the issuer of its people.
    login_url: address that takes requests by redirect.
    certificates: of the keys that sign its responses; several while it changes them.
    """

    entity_id: str
    login_url: str
    certificates: Sequence[Certificate] = field(repr=False)


def read_metadata(path: Path) -> IdentityProvider:
    """Read a file of metadata that describes one provider. Raise ValueError, OSError."""
    root = parse_xml(path.read_bytes())
    found = [root] if root.tag.endswith("}EntityDescriptor") else children(root, "md:EntityDescriptor")
    described = [each for each in found if children(each, "md:IDPSSODescriptor")]
    if len(described) != 1:
        raise ValueError(f"it describes {len(described)} login providers in place of one")
    [entity] = described
    role = only_child(entity, "md:IDPSSODescriptor")
    services = children(role, "md:SingleSignOnService")
    urls = [each.get("Location", "") for each in services if each.get("Binding") == REDIRECT]
    if len(urls) != 1:
        raise ValueError("the provider has no single address for logins with the binding HTTP-Redirect")
    _check_url(urls[0])
    certificates = [certificate for key in children(role, "md:KeyDescriptor") for certificate in _certificates(key)]
    if not certificates:
        raise ValueError("the provider has no certificate for signatures")
    entity_id = entity.get("entityID", "")
    if not entity_id:
        raise ValueError("the provider has no entityID")
    return IdentityProvider(entity_id, urls[0], certificates)


def _certificates(key: Element) -> list[Certificate]:
    if key.get("use") not in (None, "signing"):
        return []
    texts = [text_of(each) for each in children(key, "ds:KeyInfo/ds:X509Data/ds:X509Certificate")]
    return [load_der_x509_certificate(base64.b64decode("".join(text.split()))) for text in texts]


def _check_url(url: str) -> None:
    parts = urlsplit(url)
    if not (parts.scheme == "https" or (parts.scheme == "http" and is_loopback(parts.hostname or ""))):
        raise ValueError(f"the address for logins, {url}, does not use https")
