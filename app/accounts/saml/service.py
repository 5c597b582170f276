"""This server as SAML knows it: its names, its requests and its metadata."""

import base64
import zlib
from dataclasses import dataclass
from datetime import UTC, datetime
from urllib.parse import urlencode

from lxml import etree

from app.accounts.saml.xml import METADATA, POST, SAML, SAMLP


@dataclass(frozen=True, slots=True)
class SamlService:
    """This server.

    entity_id: its name, and the audience of assertions.
    answer_url: address that takes responses by POST.
    """

    entity_id: str
    answer_url: str

    def request_url(self, login_url: str, request_id: str) -> str:
        """Return the address that begins a login at the provider (SAML Bindings, section 3.4)."""
        request = etree.Element(
            f"{{{SAMLP}}}AuthnRequest",
            {
                "ID": request_id,
                "Version": "2.0",
                "IssueInstant": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
                "Destination": login_url,
                "ProtocolBinding": POST,
                "AssertionConsumerServiceURL": self.answer_url,
            },
            nsmap={"samlp": SAMLP, "saml": SAML},
        )
        etree.SubElement(request, f"{{{SAML}}}Issuer").text = self.entity_id
        etree.SubElement(request, f"{{{SAMLP}}}NameIDPolicy", {"AllowCreate": "true"})
        compress = zlib.compressobj(wbits=-zlib.MAX_WBITS)
        deflated = compress.compress(etree.tostring(request)) + compress.flush()
        query = urlencode({"SAMLRequest": base64.b64encode(deflated).decode()})
        return f"{login_url}{'&' if '?' in login_url else '?'}{query}"

    def metadata(self) -> bytes:
        """Return the description of this server for the provider."""
        root = etree.Element(f"{{{METADATA}}}EntityDescriptor", {"entityID": self.entity_id}, nsmap={"md": METADATA})
        role = etree.SubElement(
            root,
            f"{{{METADATA}}}SPSSODescriptor",
            {
                "AuthnRequestsSigned": "false",
                "WantAssertionsSigned": "true",
                "protocolSupportEnumeration": SAMLP,
            },
        )
        etree.SubElement(
            role,
            f"{{{METADATA}}}AssertionConsumerService",
            {"Binding": POST, "Location": self.answer_url, "index": "0", "isDefault": "true"},
        )
        written: bytes = etree.tostring(root, xml_declaration=True, encoding="UTF-8")
        return written
