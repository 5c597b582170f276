"""An OpenID provider: discovery, the authorization code flow with PKCE, and the verification of its tokens.

OpenID Connect Core 1.0 and Discovery 1.0, RFC 7636 (PKCE), RFC 9207 (issuer in the answer), RP-Initiated Logout 1.0.
Only the operator names the provider, so the server fetches no address that a client chose.
"""

import asyncio
import logging
import ssl
import time
from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import urlencode, urlsplit

import httpx2
from authlib.integrations.base_client.errors import OAuthError
from authlib.integrations.httpx_client import AsyncOAuth2Client
from authlib.oidc.core import CodeIDToken
from joserfc import jwt
from joserfc.errors import JoseError
from joserfc.jwk import KeySet

from app.accounts.attempts import Attempt
from app.accounts.errors import LoginRefusedError, ProviderUnavailableError
from app.config.parsers import is_loopback
from app.tenants.person import Identity

ALGORITHMS: Final = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512")
"""Signatures by a key that only the provider has. `none`, and codes made with a shared secret, are not among them."""

logger = logging.getLogger(__name__)

SKEW_SECONDS = 60
"""Accepted difference between the clocks of the provider and of this server."""

ANSWER_SECONDS = 10.0
FRESH_SECONDS = 3600.0
RETRY_SECONDS = 5.0
"""Seconds after a failed discovery in which no request asks again, so that a flood of logins waits for nothing."""
MAX_CODE = 4096
MAX_TEXT = 255
MAX_GROUPS = 256


@dataclass(frozen=True, slots=True, kw_only=True)
class OidcClient:
    """Registration of this server with the provider.

    secret: "" for a public client.
    redirect_uri: address of this server to which the provider sends its answer.
    home: address of this server's page.
    """

    issuer: str
    client_id: str
    secret: str
    scopes: str
    groups_claim: str
    redirect_uri: str
    home: str


class OidcProvider:
    """Owner of what is known about one provider: its addresses and its public keys."""

    def __init__(self, client: OidcClient, clock: Callable[[], float] = time.monotonic) -> None:
        self._of = client
        self._clock = clock
        self._tls: ssl.SSLContext | None = None
        self._metadata: Mapping[str, Any] = {}
        self._keys: KeySet | None = None
        self._read_at = -FRESH_SECONDS
        self._failed_at = 0.0
        self._failure = ""
        self._reading = asyncio.Lock()

    @property
    def label(self) -> str:
        """Name of the provider for the page: its host."""
        return urlsplit(self._of.issuer).hostname or self._of.issuer

    async def authorization_url(self, attempt: Attempt) -> str:
        """Return the address at which a person logs in. Raise ProviderUnavailableError."""
        metadata = await self._discover()
        async with self._session() as session:
            url, _ = session.create_authorization_url(
                metadata["authorization_endpoint"],
                state=attempt.state,
                code_verifier=attempt.verifier,
                nonce=attempt.nonce,
            )
        return str(url)

    async def identity_of(self, query: Mapping[str, str], attempt: Attempt) -> Identity:
        """Exchange the code of an answer for the identity of the person that logged in.

        Raises:
            LoginRefusedError: the answer is not one of this provider to this attempt.
            ProviderUnavailableError: the provider does not answer.
        """
        code, issuer = query.get("code", ""), query.get("iss")
        if "error" in query or not 0 < len(code) <= MAX_CODE:
            raise LoginRefusedError("The login provider reports no login", "denied")
        metadata = await self._discover()
        names_issuer = metadata.get("authorization_response_iss_parameter_supported") is True
        if issuer != self._of.issuer and (issuer is not None or names_issuer):
            raise LoginRefusedError("The answer is from another login provider")
        async with self._session() as session:
            token = await self._exchange(session, metadata["token_endpoint"], code, attempt)
            claims = await self._verified(token, attempt.nonce)
            if self._of.groups_claim.partition(".")[0] not in claims and "userinfo_endpoint" in metadata:
                claims = {**await self._userinfo(session, metadata["userinfo_endpoint"], claims["sub"]), **claims}
        return self._identity(claims)

    async def end_session_url(self) -> str | None:
        """Return the address that ends the session at the provider; None if it has none, or does not answer."""
        try:
            endpoint = (await self._discover()).get("end_session_endpoint")
        except ProviderUnavailableError:
            return None
        if not isinstance(endpoint, str):
            return None
        query = urlencode({"client_id": self._of.client_id, "post_logout_redirect_uri": self._of.home})
        return f"{endpoint}{'&' if '?' in endpoint else '?'}{query}"

    async def _discover(self) -> Mapping[str, Any]:
        async with self._reading:
            if self._clock() - self._read_at < FRESH_SECONDS:
                return self._metadata
            if self._failure and self._clock() - self._failed_at < RETRY_SECONDS:
                raise ProviderUnavailableError(self._failure)
            try:
                metadata = await self._get(f"{self._of.issuer.rstrip('/')}/.well-known/openid-configuration")
                if metadata.get("issuer") != self._of.issuer:
                    raise ProviderUnavailableError(
                        f"The login provider calls itself {metadata.get('issuer')!r}, and --oidc-issuer is "
                        f"{self._of.issuer}"
                    )
                for name in ("authorization_endpoint", "token_endpoint", "jwks_uri"):
                    _check_endpoint(name, metadata.get(name))
            except ProviderUnavailableError as error:
                self._failure, self._failed_at = error.message, self._clock()
                raise
            self._metadata, self._keys, self._read_at = metadata, None, self._clock()
            return metadata

    async def _exchange(self, session: Any, endpoint: str, code: str, attempt: Attempt) -> Mapping[str, Any]:
        try:
            async with asyncio.timeout(ANSWER_SECONDS):
                token: Mapping[str, Any] = await session.fetch_token(
                    endpoint, grant_type="authorization_code", code=code, code_verifier=attempt.verifier
                )
        except OAuthError as error:
            raise LoginRefusedError(f"The login provider refused the code: {error.error}", "expired") from error
        except (httpx2.HTTPError, TimeoutError, ValueError) as error:
            raise self._unavailable(error) from error
        return token

    async def _verified(self, token: Mapping[str, Any], nonce: str) -> dict[str, Any]:
        raw = token.get("id_token")
        if not isinstance(raw, str):
            raise LoginRefusedError("The login provider sent no ID token")
        try:
            try:
                decoded = jwt.decode(raw, await self._key_set(), algorithms=list(ALGORITHMS))
            except (JoseError, ValueError):
                # The provider may have changed its keys since they were read.
                self._keys = None
                decoded = jwt.decode(raw, await self._key_set(), algorithms=list(ALGORITHMS))
            claims = CodeIDToken(
                decoded.claims,
                decoded.header,
                {
                    "iss": {"essential": True, "value": self._of.issuer},
                    "aud": {"essential": True, "value": self._of.client_id},
                },
                {"nonce": nonce, "client_id": self._of.client_id, "access_token": token.get("access_token")},
            )
            claims.validate(leeway=SKEW_SECONDS)
        except (JoseError, ValueError, TypeError, KeyError) as error:
            raise LoginRefusedError(f"The ID token is not valid: {error}") from error
        return dict(claims)

    async def _userinfo(self, session: Any, endpoint: str, subject: str) -> Mapping[str, Any]:
        try:
            async with asyncio.timeout(ANSWER_SECONDS):
                response = await session.get(endpoint)
            response.raise_for_status()
            found = response.json()
        except (httpx2.HTTPError, OAuthError, TimeoutError, ValueError) as error:
            raise self._unavailable(error) from error
        if not isinstance(found, dict) or found.get("sub") != subject:
            raise LoginRefusedError("The login provider described another person than the one that logged in")
        return found

    def _identity(self, claims: Mapping[str, Any]) -> Identity:
        subject = claims.get("sub")
        if not isinstance(subject, str) or not 0 < len(subject) <= MAX_TEXT:
            raise LoginRefusedError("The ID token names no person")
        name = _text(claims, "name") or _text(claims, "preferred_username")
        return Identity(self._of.issuer, subject, name, _text(claims, "email"), _groups(claims, self._of.groups_claim))

    async def _key_set(self) -> KeySet:
        if self._keys is None:
            found = await self._get(self._metadata["jwks_uri"])
            self._keys = KeySet.import_key_set(found)  # type: ignore[arg-type]
        return self._keys

    async def _get(self, url: str) -> dict[str, Any]:
        try:
            async with asyncio.timeout(ANSWER_SECONDS), self._session() as session:
                response = await session.request("GET", url, withhold_token=True)
            response.raise_for_status()
            found = response.json()
        except (httpx2.HTTPError, TimeoutError, ValueError) as error:
            raise self._unavailable(error) from error
        if not isinstance(found, dict):
            raise self._unavailable(TypeError(f"{url} is no JSON object"))
        return found

    def _session(self) -> AbstractAsyncContextManager[Any]:
        if self._tls is None:
            self._tls = ssl.create_default_context()
        session: AbstractAsyncContextManager[Any] = AsyncOAuth2Client(
            self._of.client_id,
            self._of.secret or None,
            token_endpoint_auth_method="client_secret_basic" if self._of.secret else "none",
            scope=self._of.scopes,
            redirect_uri=self._of.redirect_uri,
            code_challenge_method="S256",
            verify=self._tls,
            timeout=ANSWER_SECONDS,
            follow_redirects=False,
        )
        return session

    def _unavailable(self, error: Exception) -> ProviderUnavailableError:
        logger.warning("the login provider does not answer: %r", error)
        return ProviderUnavailableError(
            f"The login provider {self._of.issuer} does not answer ({type(error).__name__}). Log in with a key, or try "
            "again later"
        )


def _check_endpoint(name: str, url: object) -> None:
    """Check that codes and tokens travel encrypted. Raise ProviderUnavailableError."""
    parts = urlsplit(url) if isinstance(url, str) else None
    if parts is None or not (parts.scheme == "https" or (parts.scheme == "http" and is_loopback(parts.hostname or ""))):
        raise ProviderUnavailableError(f"The login provider has no {name} with https")


def _text(claims: Mapping[str, Any], name: str) -> str:
    value = claims.get(name)
    return "".join(filter(str.isprintable, value))[:MAX_TEXT] if isinstance(value, str) else ""


def _groups(claims: Mapping[str, Any], path: str) -> tuple[str, ...]:
    value: object = claims.get(path)
    if value is None:
        value = claims
        for part in path.split("."):
            value = value.get(part) if isinstance(value, Mapping) else None
    found = value if isinstance(value, list) else [value]
    return tuple(group for group in found if isinstance(group, str) and 0 < len(group) <= MAX_TEXT)[:MAX_GROUPS]
