"""Which keys and logins open the server, and what their tenants may use: the database's, at most a second old.

It is read anew by the first request after that second, whoever changed it (`ebb keys` is another process), so that a
revoked key opens nothing a second later, and a flood of wrong keys costs one look into a dictionary each.
"""

import asyncio
import logging
import secrets
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from app.api_key import SECRET_BYTES, ApiKey, digest_of, key_id_of, matches
from app.key_demand import Demand
from app.principal import ANYBODY, Principal
from app.storage.keys import KeyStore, Login
from app.storage.limits import LimitStore
from app.tenant_limits import NO_LIMITS, TenantLimits

FRESH_SECONDS = 1.0
LOGIN_SECONDS = 30 * 86_400
NOTED_SECONDS = 3600.0
"""Uses of a key within this time are written once."""

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class _Contents:
    keys: Mapping[str, ApiKey] = field(default_factory=dict)
    logins: Mapping[bytes, Login] = field(default_factory=dict)
    limits: Mapping[str, TenantLimits] = field(default_factory=dict)


class KeyRing:
    """Owner of what was read last, and of the task that notes uses."""

    def __init__(
        self, keys: KeyStore, limits: LimitStore, demand: Demand, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._keys = keys
        self._limits = limits
        self._demand = demand
        self._clock = clock
        self._contents = _Contents()
        self._read_at = -FRESH_SECONDS
        self._reading = asyncio.Lock()
        self._used: set[str] = set()
        self._noting: asyncio.Task[None] | None = None

    async def read(self) -> None:
        """Take in what was changed."""
        async with self._reading:
            await self._read()

    async def refresh(self) -> None:
        """The same, unless that was done within the last second. What cannot be read stays as it was: a broken disk is
        no reason to refuse who needs none."""
        if self._is_fresh():
            return
        async with self._reading:
            if self._is_fresh():
                return
            try:
                await self._read()
            except Exception:
                logger.exception("the keys could not be read; those of before count until they can")
                self._read_at = self._clock()

    async def stop(self) -> None:
        """Wait for what is being written."""
        if self._noting is not None:
            await self._noting

    @property
    def demands_keys(self) -> bool:
        """Whether a client must show one."""
        return self._demand == "always" or (self._demand == "once made" and bool(self._contents.keys))

    def by_key(self, text: str) -> Principal | None:
        """Who shows this key; None if it opens nothing."""
        key = self._contents.keys.get(key_id_of(text) or "")
        if key is None or not matches(key, text) or key.revoked_at is not None:
            return None
        return self._noted(key)

    def by_login(self, text: str) -> Principal | None:
        """Who is logged in with this secret."""
        login = self._contents.logins.get(digest_of(text))
        if login is None or login.expires_at <= time.time():
            return None
        key = self._contents.keys[login.key_id]
        return self._noted(key) if key.revoked_at is None else None

    def anybody(self) -> Principal | None:
        """Who shows nothing."""
        return None if self.demands_keys else ANYBODY

    async def log_in(self, principal: Principal) -> str:
        """The secret of a new login of who showed a key."""
        assert principal.key_id is not None
        secret = secrets.token_urlsafe(SECRET_BYTES)
        await self._keys.log_in(digest_of(secret), Login(principal.key_id, time.time() + LOGIN_SECONDS))
        await self.read()
        return secret

    async def log_out(self, secret: str) -> None:
        """End a login, if it is one."""
        if digest_of(secret) in self._contents.logins:
            await self._keys.log_out(digest_of(secret))
            await self.read()

    def limits_of(self, tenant: str) -> TenantLimits:
        """What it may use."""
        return self._contents.limits.get(tenant, NO_LIMITS)

    def _is_fresh(self) -> bool:
        return self._clock() - self._read_at < FRESH_SECONDS

    async def _read(self) -> None:
        if self._used and (self._noting is None or self._noting.done()):
            used, self._used = self._used, set()
            # Nobody waits for it: another writer may have a whole file to import.
            self._noting = asyncio.create_task(self._note(used), name="note-key-use")
        keys = {key.id: key for key in await self._keys.all()}
        # A login may be of a key that was made after the keys were read.
        logins = {digest: login for digest, login in (await self._keys.logins()).items() if login.key_id in keys}
        self._contents = _Contents(keys, logins, await self._limits.all())
        self._read_at = self._clock()

    async def _note(self, used: set[str]) -> None:
        try:
            await self._keys.used(used, time.time())
        except Exception:
            logger.exception("when keys were last used could not be stored")

    def _noted(self, key: ApiKey) -> Principal:
        if key.last_used_at is None or time.time() - key.last_used_at > NOTED_SECONDS:
            self._used.add(key.id)
        return key.principal
