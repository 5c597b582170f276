"""Keys of new tenants on a server under test."""

import aiohttp


class TenantKeys:
    """Maker of keys, each for a tenant of the same name. The operator's key is the first: it closes the server."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._operator = ""

    async def make(self, names: list[str]) -> list[str]:
        """Make a key for each tenant of `names`. Raise aiohttp.ClientError if the server refuses."""
        async with aiohttp.ClientSession(self._url) as session:
            if not self._operator:
                self._operator = await self._make(session, "operator", "admin")
            return [await self._make(session, name, "user") for name in names]

    async def _make(self, session: aiohttp.ClientSession, name: str, scope: str) -> str:
        headers = {"Authorization": f"Bearer {self._operator}"} if self._operator else {}
        body = {"name": name, "tenant": name, "scope": scope}
        async with session.post("/api/admin/keys", json=body, headers=headers) as response:
            response.raise_for_status()
            return str((await response.json())["key"])
