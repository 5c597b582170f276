"""A SAML provider for tests: its metadata, and signed responses in which a test can change anything."""

import base64
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import parse_qs, urlsplit

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.x509.oid import NameOID
from lxml import etree
from signxml.algorithms import CanonicalizationMethod, SignatureMethod
from signxml.signer import XMLSigner

SAML = "{urn:oasis:names:tc:SAML:2.0:assertion}"
SAMLP = "{urn:oasis:names:tc:SAML:2.0:protocol}"
DS = "{http://www.w3.org/2000/09/xmldsig#}"
ISSUER = "https://login.example/saml"
LOGIN_URL = "https://login.example/saml/login"


@dataclass(frozen=True)
class Answer:
    """The contents of a response. Seconds count from now."""

    request_id: str
    url: str
    name: str = "ada-1"
    name_format: str = "urn:oasis:names:tc:SAML:2.0:nameid-format:persistent"
    attributes: Mapping[str, tuple[str, ...]] = field(
        default_factory=lambda: {"displayName": ("Ada",), "mail": ("ada@example.org",), "groups": ("staff",)}
    )
    audience: str = ""
    recipient: str = ""
    destination: str = ""
    issuer: str = ISSUER
    id: str = "_a1"
    status: str = "urn:oasis:names:tc:SAML:2.0:status:Success"
    begins: float = -5.0
    ends: float = 300.0
    confirmed_until: float = 300.0


class SamlKeys:
    """The key of a provider and its certificate."""

    def __init__(self) -> None:
        self.key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
        name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "login.example")])
        now = datetime.now(UTC)
        self.certificate = (
            x509.CertificateBuilder()
            .subject_name(name)
            .issuer_name(name)
            .public_key(self.key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - timedelta(days=1))
            .not_valid_after(now + timedelta(days=1))
            .sign(self.key, hashes.SHA256())
        )

    @property
    def pem(self) -> bytes:
        return self.certificate.public_bytes(serialization.Encoding.PEM)

    def metadata(self, login_url: str = LOGIN_URL, issuer: str = ISSUER) -> str:
        der = base64.b64encode(self.certificate.public_bytes(serialization.Encoding.DER)).decode()
        return f"""<md:EntityDescriptor xmlns:md="urn:oasis:names:tc:SAML:2.0:metadata"
    xmlns:ds="http://www.w3.org/2000/09/xmldsig#" entityID="{issuer}">
  <md:IDPSSODescriptor protocolSupportEnumeration="urn:oasis:names:tc:SAML:2.0:protocol">
    <md:KeyDescriptor use="signing"><ds:KeyInfo><ds:X509Data><ds:X509Certificate>{der}</ds:X509Certificate>
    </ds:X509Data></ds:KeyInfo></md:KeyDescriptor>
    <md:SingleSignOnService Binding="urn:oasis:names:tc:SAML:2.0:bindings:HTTP-Redirect" Location="{login_url}"/>
    <md:SingleSignOnService Binding="urn:oasis:names:tc:SAML:2.0:bindings:HTTP-POST" Location="{login_url}/post"/>
  </md:IDPSSODescriptor>
</md:EntityDescriptor>"""

    def signed(self, element: Any, reference: str) -> Any:
        """Return a copy of an element with a signature behind its issuer."""
        signer = XMLSigner(
            signature_algorithm=SignatureMethod.RSA_SHA256,
            c14n_algorithm=CanonicalizationMethod.EXCLUSIVE_XML_CANONICALIZATION_1_0,
        )
        copy = etree.fromstring(etree.tostring(element))
        place = etree.SubElement(copy, f"{DS}Signature", {"Id": "placeholder"}, nsmap={"ds": DS[1:-1]})
        copy.remove(place)
        copy.insert(1, place)
        return signer.sign(copy, key=self.key, cert=[self.certificate], reference_uri=reference, id_attribute="ID")


def request_of(url: str) -> Any:
    """Return the request in the address of a login."""
    [text] = parse_qs(urlsplit(url).query)["SAMLRequest"]
    return etree.fromstring(zlib.decompress(base64.b64decode(text), wbits=-zlib.MAX_WBITS))


def response(answer: Answer, keys: SamlKeys | None = None, *, whole: bool = False, both: bool = False) -> Any:
    """Return a response, whose assertion is signed with `keys`, or the whole of it, or both."""
    root = etree.Element(
        f"{SAMLP}Response",
        {"ID": "_r1", "Version": "2.0", "IssueInstant": _at(0), "Destination": answer.destination or answer.url},
        nsmap={"samlp": SAMLP[1:-1], "saml": SAML[1:-1]},
    )
    etree.SubElement(root, f"{SAML}Issuer").text = answer.issuer
    status = etree.SubElement(root, f"{SAMLP}Status")
    etree.SubElement(status, f"{SAMLP}StatusCode", {"Value": answer.status})
    assertion = _assertion(answer)
    if keys is not None and (both or not whole):
        assertion = keys.signed(assertion, answer.id)
    root.append(assertion)
    return keys.signed(root, "_r1") if keys is not None and (both or whole) else root


def posted(element: Any) -> dict[str, str]:
    """Return the form that brings a response."""
    return {"SAMLResponse": base64.b64encode(etree.tostring(element)).decode()}


def changed(element: Any, change: Callable[[Any], None]) -> Any:
    """Return a copy of an element that `change` has changed."""
    copy = etree.fromstring(etree.tostring(element))
    change(copy)
    return copy


def other(answer: Answer, **fields: Any) -> Answer:
    """Return an answer with other contents."""
    return replace(answer, **fields)


def _assertion(answer: Answer) -> Any:
    assertion = etree.Element(
        f"{SAML}Assertion", {"ID": answer.id, "Version": "2.0", "IssueInstant": _at(0)}, nsmap={"saml": SAML[1:-1]}
    )
    etree.SubElement(assertion, f"{SAML}Issuer").text = answer.issuer
    subject = etree.SubElement(assertion, f"{SAML}Subject")
    etree.SubElement(subject, f"{SAML}NameID", {"Format": answer.name_format}).text = answer.name
    bearer = {"Method": "urn:oasis:names:tc:SAML:2.0:cm:bearer"}
    confirmation = etree.SubElement(subject, f"{SAML}SubjectConfirmation", bearer)
    data = {"Recipient": answer.recipient or answer.url, "NotOnOrAfter": _at(answer.confirmed_until)}
    if answer.request_id:
        data["InResponseTo"] = answer.request_id
    etree.SubElement(confirmation, f"{SAML}SubjectConfirmationData", data)
    times = {"NotBefore": _at(answer.begins), "NotOnOrAfter": _at(answer.ends)}
    conditions = etree.SubElement(assertion, f"{SAML}Conditions", times)
    restriction = etree.SubElement(conditions, f"{SAML}AudienceRestriction")
    etree.SubElement(restriction, f"{SAML}Audience").text = answer.audience or answer.url
    etree.SubElement(assertion, f"{SAML}AuthnStatement", {"AuthnInstant": _at(0)})
    statement = etree.SubElement(assertion, f"{SAML}AttributeStatement")
    for name, values in answer.attributes.items():
        attribute = etree.SubElement(statement, f"{SAML}Attribute", {"Name": name})
        for value in values:
            etree.SubElement(attribute, f"{SAML}AttributeValue").text = value
    return assertion


def _at(seconds: float) -> str:
    return (datetime.now(UTC) + timedelta(seconds=seconds)).strftime("%Y-%m-%dT%H:%M:%SZ")
