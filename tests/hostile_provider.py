"""An OpenID provider that issues whatever token a test prepares, right or wrong."""

import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import parse_qs, urlsplit

from aiohttp import web
from joserfc import jwt
from joserfc.jwk import KeySet, RSAKey

Claims = dict[str, Any]


class HostileProvider:
    """The provider. `spoil` changes the claims of each token, `sign` signs them."""

    def __init__(self) -> None:
        self.issuer = ""
        self.key = RSAKey.generate_key(2048, parameters={"kid": "first", "use": "sig", "alg": "RS256"})
        self.metadata: dict[str, Any] = {}
        self.spoil: Callable[[Claims], Claims] = lambda claims: claims
        self.sign: Callable[[Claims], str] = self.signed
        self.nonces: dict[str, str] = {}
        """Nonce by code; a code works once."""
        self.exchanged: list[dict[str, str]] = []

    def signed(self, claims: Claims) -> str:
        """Sign as an honest provider does."""
        return jwt.encode({"alg": "RS256", "kid": self.key.kid}, claims, self.key)

    def answer_to(self, url: str, code: str = "code") -> dict[str, str]:
        """Return the query with which the browser comes back from the address of a login."""
        asked = {name: values[0] for name, values in parse_qs(urlsplit(url).query).items()}
        self.nonces[code] = asked["nonce"]
        return {"code": code, "state": asked["state"]}

    async def configuration(self, _request: web.Request) -> web.Response:
        issuer = self.issuer
        return web.json_response(
            {
                "issuer": issuer,
                "authorization_endpoint": f"{issuer}/authorize",
                "token_endpoint": f"{issuer}/token",
                "jwks_uri": f"{issuer}/jwks",
                **self.metadata,
            }
        )

    async def jwks(self, _request: web.Request) -> web.Response:
        return web.json_response(KeySet([self.key]).as_dict(private=False))

    async def token(self, request: web.Request) -> web.Response:
        form = {name: str(value) for name, value in (await request.post()).items()}
        self.exchanged.append(form)
        nonce = self.nonces.pop(form["code"], None)
        if nonce is None:
            return web.json_response({"error": "invalid_grant"}, status=400)
        now = int(time.time())
        claims = {"iss": self.issuer, "sub": "ada", "aud": "ebb", "exp": now + 300, "iat": now, "nonce": nonce}
        token = self.sign(self.spoil({**claims, "name": "Ada", "groups": ["staff"]}))
        return web.json_response({"access_token": "a", "token_type": "Bearer", "id_token": token, "expires_in": 300})


@asynccontextmanager
async def hostile_provider() -> AsyncIterator[HostileProvider]:
    """Serve a provider on a free port until the block ends."""
    provider = HostileProvider()
    app = web.Application()
    app.router.add_get("/.well-known/openid-configuration", provider.configuration)
    app.router.add_get("/jwks", provider.jwks)
    app.router.add_post("/token", provider.token)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    provider.issuer = site.name
    try:
        yield provider
    finally:
        await runner.cleanup()
