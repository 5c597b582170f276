"""A SAML provider made of pysaml2, in a separate process, since its imports warn.

`python -m tests.logins.pysaml2_provider FOLDER` reads idp.pem, idp.key and service.xml in FOLDER, and writes idp.xml.
Then each line of its input is JSON, with a request and the way to sign, and each line of its output is the response.
"""

import base64
import json
import sys
from pathlib import Path
from typing import Any

from saml2 import BINDING_HTTP_REDIRECT
from saml2.authn_context import PASSWORDPROTECTEDTRANSPORT
from saml2.config import IdPConfig
from saml2.metadata import create_metadata_string
from saml2.saml import NAMEID_FORMAT_PERSISTENT, NameID
from saml2.server import Server

ISSUER = "https://login.example/idp"
PERSON = {"displayName": ["Ada"], "mail": ["ada@example.org"], "groups": ["staff"]}

DEFAULTS = {
    "sign_assertion": True,
    "sign_response": False,
    "format": NAMEID_FORMAT_PERSISTENT,
    "sign_alg": "http://www.w3.org/2001/04/xmldsig-more#rsa-sha256",
    "digest_alg": "http://www.w3.org/2001/04/xmlenc#sha256",
}


def provider_in(folder: Path) -> Any:
    """Return a provider that knows this server by its metadata."""
    policy: dict[str, Any] = {"default": {"lifetime": {"minutes": 5}, "attribute_restrictions": None, "sign": []}}
    endpoints = {"single_sign_on_service": [("https://login.example/sso", BINDING_HTTP_REDIRECT)]}
    config = IdPConfig().load(
        {
            "entityid": ISSUER,
            "service": {"idp": {"endpoints": endpoints, "policy": policy}},
            "metadata": {"local": [str(folder / "service.xml")]},
            "key_file": str(folder / "idp.key"),
            "cert_file": str(folder / "idp.pem"),
        }
    )
    (folder / "idp.xml").write_bytes(create_metadata_string(None, config))
    return Server(config=config)


def respond(provider: Any, text: str, how: dict[str, Any]) -> str:
    """Return the response to a request, as a browser would post it."""
    request = provider.parse_authn_request(text, BINDING_HTTP_REDIRECT).message
    how = DEFAULTS | how
    response = provider.create_authn_response(
        PERSON,
        in_response_to=request.id,
        destination=request.assertion_consumer_service_url,
        sp_entity_id=request.issuer.text,
        name_id=NameID(format=how.pop("format"), text="ada-1"),
        authn={"class_ref": PASSWORDPROTECTEDTRANSPORT, "authn_auth": ISSUER},
        **how,
    )
    return base64.b64encode(str(response).encode()).decode()


def main() -> None:
    """Answer the requests of the input until it ends."""
    provider = provider_in(Path(sys.argv[1]))
    print("ready", flush=True)
    for line in sys.stdin:
        order = json.loads(line)
        print(respond(provider, order["request"], order["how"]), flush=True)


if __name__ == "__main__":
    main()
