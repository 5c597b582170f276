"""Verification of responses (SAML Profiles, section 4.1.4.3).

Only what the signature library returns as signed is read: no element of the document that came.
"""

import base64
import binascii
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from cryptography.x509 import Certificate
from lxml import etree
from signxml.algorithms import DigestAlgorithm, SignatureMethod
from signxml.exceptions import SignXMLException
from signxml.verifier import SignatureConfiguration, XMLVerifier

from app.accounts.errors import LoginRefusedError
from app.accounts.saml.identity_provider import IdentityProvider
from app.accounts.saml.service import SamlService
from app.accounts.saml.signature_form import check_namespaces, check_signatures
from app.accounts.saml.xml import SAML, SAMLP, Element, children, only_child, parse_xml, text_of

SKEW_SECONDS: Final = 60
"""Accepted difference between the clocks of the provider and of this server."""

SUCCESS: Final = "urn:oasis:names:tc:SAML:2.0:status:Success"
BEARER: Final = "urn:oasis:names:tc:SAML:2.0:cm:bearer"
TRANSIENT: Final = "urn:oasis:names:tc:SAML:2.0:nameid-format:transient"
SIGNATURES: Final = frozenset(
    {
        SignatureMethod.RSA_SHA256,
        SignatureMethod.RSA_SHA384,
        SignatureMethod.RSA_SHA512,
        SignatureMethod.SHA256_RSA_MGF1,
        SignatureMethod.ECDSA_SHA256,
        SignatureMethod.ECDSA_SHA384,
        SignatureMethod.ECDSA_SHA512,
    }
)
DIGESTS: Final = frozenset({DigestAlgorithm.SHA256, DigestAlgorithm.SHA384, DigestAlgorithm.SHA512})
WHOLE: Final = "./"
ASSERTION: Final = f"./{{{SAML}}}Assertion/"
"""Places of a signature: of the whole response, or of its assertion."""


@dataclass(frozen=True, slots=True)
class Assertion:
    """A provider's statement about a person who has logged in.

    in_response_to: id of the request.
    subject: name of the person; "" if the name is new in each response.
    attributes: values by the name and by the friendly name of an attribute.
    expires_at: Unix seconds from which the assertion is not accepted.
    """

    id: str
    in_response_to: str
    subject: str
    attributes: Mapping[str, Sequence[str]]
    expires_at: float


def verified_assertion(text: str, provider: IdentityProvider, service: SamlService, now: float) -> Assertion:
    """Return the assertion of a response to this server, as it came in a form. Raise LoginRefusedError.

    now: Unix seconds.
    """
    try:
        data = base64.b64decode("".join(text.split()), validate=True)
        signed = _signed_assertion(data, provider.certificates, service.answer_url)
        return _checked(signed, provider, service, now)
    except (ValueError, binascii.Error, SignXMLException, etree.LxmlError) as error:
        raise LoginRefusedError(f"The response of the login provider is not valid: {error}") from error


def _signed_assertion(data: bytes, certificates: Sequence[Certificate], answer_url: str) -> Element:
    """Return the assertion that a signature covers. Raise ValueError, SignXMLException."""
    check_namespaces(data)
    root = parse_xml(data)
    check_signatures(root)
    if root.tag != f"{{{SAMLP}}}Response":
        raise ValueError("it is no response")
    if (status := only_child(root, "samlp:Status/samlp:StatusCode").get("Value")) != SUCCESS:
        raise ValueError(f"the provider reports {status}")
    if root.get("Destination", answer_url) != answer_url:
        raise ValueError(f"it is for {root.get('Destination')}")
    if children(root, "saml:EncryptedAssertion"):
        raise ValueError("its assertion is encrypted: turn the encryption off at the provider")
    place = WHOLE if children(root, "ds:Signature") else ASSERTION
    signed = _verified(data, certificates, place)
    expected = root if place == WHOLE else only_child(root, "saml:Assertion")
    if (signed.tag, signed.get("ID")) != (expected.tag, expected.get("ID")):
        raise ValueError("the signature is of another element")
    return only_child(signed, "saml:Assertion") if place == WHOLE else signed


def _verified(data: bytes, certificates: Sequence[Certificate], place: str) -> Element:
    """Return the element that the signature at `place` covers, as it was signed. Raise SignXMLException."""
    config = SignatureConfiguration(
        require_x509=True, location=place, expect_references=1, signature_methods=SIGNATURES, digest_algorithms=DIGESTS
    )
    failure: SignXMLException | None = None
    for certificate in certificates:
        try:
            result = XMLVerifier().verify(data, x509_cert=certificate, id_attribute="ID", expect_config=config)
        except SignXMLException as error:
            failure = error
            continue
        assert not isinstance(result, list)
        return parse_xml(result.signed_data)
    assert failure is not None, "a provider has a certificate"
    raise failure


def _checked(assertion: Element, provider: IdentityProvider, service: SamlService, now: float) -> Assertion:
    if assertion.get("Version") != "2.0":
        raise ValueError("the assertion is of another version than 2.0")
    if (issuer := text_of(only_child(assertion, "saml:Issuer"))) != provider.entity_id:
        raise ValueError(f"the issuer of the assertion is {issuer}")
    conditions = only_child(assertion, "saml:Conditions")
    _check_times(conditions, now)
    _check_audience(conditions, service.entity_id)
    only_child(assertion, "saml:AuthnStatement")
    data = _confirmation(assertion, service.answer_url, now)
    assertion_id, in_response_to = assertion.get("ID", ""), data.get("InResponseTo", "")
    if not assertion_id or not in_response_to:
        raise ValueError("the login began at the provider, and not at this server")
    name = only_child(assertion, "saml:Subject/saml:NameID")
    subject = "" if name.get("Format") == TRANSIENT else text_of(name)
    expires_at = _time(data.get("NotOnOrAfter", "")) + SKEW_SECONDS
    return Assertion(assertion_id, in_response_to, subject, _attributes(assertion), expires_at)


def _check_times(element: Element, now: float) -> None:
    before, after = element.get("NotBefore"), element.get("NotOnOrAfter")
    if before is not None and now + SKEW_SECONDS < _time(before):
        raise ValueError(f"it is not valid before {before}: compare the clocks")
    if after is not None and now - SKEW_SECONDS >= _time(after):
        raise ValueError(f"it was valid until {after}: compare the clocks")


def _check_audience(conditions: Element, entity_id: str) -> None:
    restrictions = children(conditions, "saml:AudienceRestriction")
    audiences = [{text_of(each) for each in children(one, "saml:Audience")} for one in restrictions]
    if not audiences or any(entity_id not in each for each in audiences):
        raise ValueError(f"its audience is not {entity_id}")


def _confirmation(assertion: Element, answer_url: str, now: float) -> Element:
    """Return the data of the confirmation by the bearer. Raise ValueError."""
    found = children(assertion, "saml:Subject/saml:SubjectConfirmation")
    bearers = [each for each in found if each.get("Method") == BEARER]
    if len(bearers) != 1:
        raise ValueError(f"{len(bearers)} confirmations of the subject by its bearer, in place of one")
    data = only_child(bearers[0], "saml:SubjectConfirmationData")
    if data.get("Recipient") != answer_url:
        raise ValueError(f"its recipient is {data.get('Recipient')}")
    if data.get("NotOnOrAfter") is None:
        raise ValueError("the confirmation of the subject does not end")
    _check_times(data, now)
    return data


def _attributes(assertion: Element) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for attribute in children(assertion, "saml:AttributeStatement/saml:Attribute"):
        values = [text_of(value) for value in children(attribute, "saml:AttributeValue")]
        for name in {attribute.get("Name"), attribute.get("FriendlyName")} - {None}:
            found.setdefault(str(name), []).extend(values)
    return found


def _time(text: str) -> float:
    at = datetime.fromisoformat(text)
    return at.replace(tzinfo=at.tzinfo or UTC).timestamp()
