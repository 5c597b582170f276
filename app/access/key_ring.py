"""The keys, logins and people that have access, and tenants' limits, as the database had them at most one second ago.

The first request after that second reads what has changed since, which another process may have written (`ebb keys`).
A revoked key therefore grants nothing a second later. A key or a login that is not known may be a moment old, made at
another server: its request waits for the next reading, and a flood of them for ten readings a second. The changes are
read on a separate connection, and a request waits for them only for a limited time.
"""

import asyncio
import logging
import secrets
import time
from collections.abc import Callable
from dataclasses import replace

from app.access.auth_policy import AuthPolicy
from app.access.known_people import KnownPeople, merge
from app.accounts.rules import GroupRules, combined_limits
from app.domain.digests import digest_of
from app.storage.access import AccessReading, AccessStore, ChangePlace
from app.storage.keys import KeyStore, Login
from app.storage.people import ID_BYTES, PersonStore
from app.tenants.api_key import SECRET_BYTES, ApiKey, key_id_of, matches
from app.tenants.limits import NO_LIMITS, TenantLimits
from app.tenants.person import Identity, Person, PersonSession
from app.tenants.principal import ANYBODY, Principal
from engine.api.errors import OutageError

FRESH_SECONDS = 1.0
WAIT_SECONDS = 1.0
"""Seconds for which a request waits for the keys to be read. After that, the keys read last apply."""
AGAIN_SECONDS = 0.1
"""Seconds between two readings for the sake of keys and logins that are not known."""
LOGIN_SECONDS = 30 * 86_400
NOTED_SECONDS = 3600.0
"""Seconds within which several uses of a key are recorded once."""

logger = logging.getLogger(__name__)


class KeyRing:
    """Owner of the keys in memory, and of the tasks that read changes and record the use of keys."""

    def __init__(
        self,
        access: AccessStore,
        keys: KeyStore,
        people: PersonStore,
        auth_policy: AuthPolicy,
        clock: Callable[[], float] = time.monotonic,
        rules: GroupRules | None = None,
    ) -> None:
        """Make an empty ring.

        rules: rules for the groups of people; None admits every person as a user.
        """
        self._access = access
        self._key_store = keys
        self._person_store = people
        self._rules = rules or GroupRules()
        self._auth_policy = auth_policy
        self._clock = clock
        self._place: ChangePlace | None = None
        self._has_keys = False
        self._keys: dict[str, ApiKey] = {}
        self._logins: dict[bytes, Login] = {}
        self._limits: dict[str, TenantLimits] = {}
        self._people = KnownPeople(self._rules)
        self._read_at = -FRESH_SECONDS
        self._reading = asyncio.Lock()
        self._refreshing: asyncio.Task[None] | None = None
        self._next_look: asyncio.Task[None] | None = None
        self._looks = set[asyncio.Task[None]]()
        self._used: set[str] = set()
        self._seen: set[str] = set()
        self._noting: asyncio.Task[None] | None = None
        self._followers: list[Callable[[], None]] = []

    async def read(self) -> None:
        """Read what has changed in the database."""
        async with self._reading:
            await self._read()

    async def refresh(self, *, wait: bool = True) -> None:
        """Read what has changed in the database, unless it was read within the last second.

        If reading fails, the previous keys stay valid: a broken or slow disk is no reason to refuse a client that needs
        none.

        wait: wait for the result, for up to WAIT_SECONDS. Probes do not wait.
        """
        reading = self.begin_refresh()
        if wait and reading is not None:
            await asyncio.wait([reading], timeout=WAIT_SECONDS)

    def begin_refresh(self) -> asyncio.Task[None] | None:
        """Begin what `refresh` does, and return its task; None if the database was read within the last second."""
        if self._is_fresh():
            return None
        if self._refreshing is None or self._refreshing.done():
            self._refreshing = asyncio.create_task(self._refresh(), name="read-keys")
        return self._refreshing

    async def look_again(self) -> None:
        """Read what has changed until now, for up to WAIT_SECONDS. All that wait share a reading."""
        if self._next_look is None:
            self._next_look = asyncio.create_task(self._look(), name="look-for-keys")
            self._looks.add(self._next_look)
            self._next_look.add_done_callback(self._looks.discard)
        await asyncio.wait([self._next_look], timeout=WAIT_SECONDS)

    def follow(self, on_change: Callable[[], None]) -> None:
        """Call `on_change` each time that keys, logins or people have changed."""
        self._followers.append(on_change)

    async def stop(self) -> None:
        """Wait for reads and writes in progress."""
        for task in (self._refreshing, self._noting, *self._looks):
            if task is not None:
                await task

    @property
    def requires_keys(self) -> bool:
        """Whether a client must present a key now."""
        return self._auth_policy == "always" or (self._auth_policy == "once made" and self._has_keys)

    @property
    def auth_policy(self) -> AuthPolicy:
        """Rule that decides when clients must present a key."""
        return self._auth_policy

    def by_key(self, text: str) -> Principal | None:
        """Return the principal of a key; None if the key is invalid."""
        key = self._keys.get(key_id_of(text) or "")
        if key is None or not matches(key, text):
            return None
        return None if self.people.shuts_out(key.tenant) else self._noted(key)

    def by_login(self, text: str) -> Principal | None:
        """Return the principal that is logged in with this secret; None if the login is invalid."""
        digest = digest_of(text)
        login = self._logins.get(digest)
        if login is None:
            return self._noted_person(self.people.by_session(digest))
        key = self._keys.get(login.key_id)
        if key is None or login.expires_at <= time.time() or self.people.shuts_out(key.tenant):
            return None
        return self._noted(key)

    def is_unknown_key(self, text: str) -> bool:
        """Return whether a text may be a key that was made since the last reading."""
        key_id = key_id_of(text)
        return key_id is not None and key_id not in self._keys

    def is_unknown_login(self, text: str) -> bool:
        """Return whether a text may be the secret of a login that was made since the last reading."""
        digest = digest_of(text)
        return digest not in self._logins and self.people.session(digest) is None

    def by_identity(self, identity: Identity) -> Principal | None:
        """Return the principal of a person that a trusted proxy names; None if the person may not use the server."""
        person = self.people.person_of(identity)
        return self._noted_person(self.people.principal_of(person)) if person is not None else None

    @property
    def people(self) -> KnownPeople:
        """The people that were read last."""
        return self._people

    async def meet(self, identity: Identity) -> Person:
        """Create the account of a person, or store what has changed about it. A provisioned one keeps its groups."""
        person = self.people.person_of(identity)
        if person is not None and person.provisioned:
            identity = replace(identity, groups=person.identity.groups)
        if person is None or person.identity != identity:
            person = await self._person_store.meet(identity)
            await self.read()
        return person

    async def begin_session(self, person: Person, client: str, seconds: float) -> str:
        """Create a login for a person, and return its secret. A login from before is never used again."""
        secret, now = secrets.token_urlsafe(SECRET_BYTES), time.time()
        session = PersonSession(secrets.token_hex(ID_BYTES), person.id, client, now, now + seconds)
        await self._person_store.log_in(digest_of(secret), session)
        await self.read()
        return secret

    async def end_session(self, person_id: str, session_id: str) -> None:
        """End a login of a person. Raise NotFoundError."""
        await self._person_store.end_session(person_id, session_id)
        await self.read()

    def anybody(self) -> Principal | None:
        """Return the principal of clients without a key; None if a key is required."""
        return None if self.requires_keys else ANYBODY

    async def log_in(self, principal: Principal) -> str:
        """Create a login for a principal that presented a key, and return its secret."""
        assert principal.key_id is not None
        secret = secrets.token_urlsafe(SECRET_BYTES)
        await self._key_store.log_in(digest_of(secret), Login(principal.key_id, time.time() + LOGIN_SECONDS))
        await self.read()
        return secret

    async def log_out(self, secret: str) -> None:
        """End the login with this secret, if there is one."""
        digest = digest_of(secret)
        if digest in self._logins:
            await self._key_store.log_out(digest)
            await self.read()
        elif (session := self.people.session(digest)) is not None:
            await self.end_session(session.person_id, session.id)

    def limits_of(self, tenant: str) -> TenantLimits:
        """Return a tenant's limits: its own ones first, then those of its person's groups."""
        return combined_limits(self._limits.get(tenant, NO_LIMITS), self.people.limits_of(tenant))

    def reserving(self) -> list[str]:
        """Return the tenants for which bytes of the disk tier are reserved."""
        return [tenant for tenant, limits in self._limits.items() if limits.kv_reserved]

    @property
    def reserved_bytes(self) -> int:
        """Bytes of the disk tier that are reserved for all tenants together."""
        return sum(limits.kv_reserved or 0 for limits in self._limits.values())

    def _is_fresh(self) -> bool:
        return self._clock() - self._read_at < FRESH_SECONDS

    async def _refresh(self) -> None:
        async with self._reading:
            if not self._is_fresh():
                await self._try_to_read()

    async def _look(self) -> None:
        await asyncio.sleep(max(0.0, self._read_at + AGAIN_SECONDS - self._clock()))
        async with self._reading:
            # A change after this moment needs a later look.
            self._next_look = None
            await self._try_to_read()

    async def _try_to_read(self) -> None:
        try:
            await self._read()
        except Exception:
            logger.exception("the keys could not be read; the keys that were read last remain valid")
            self._read_at = self._clock()

    async def _read(self) -> None:
        if (self._used or self._seen) and (self._noting is None or self._noting.done()):
            used, self._used, seen, self._seen = self._used, set(), self._seen, set()
            # No request waits for this write, since other writes may be queued before it.
            self._noting = asyncio.create_task(self._note(used, seen), name="note-key-use")
        reading = await self._access.read(self._place)
        is_change = reading.place != self._place
        self._apply(reading)
        self._read_at = self._clock()
        if is_change:
            for on_change in self._followers:
                on_change()

    def _apply(self, reading: AccessReading) -> None:
        if reading.is_whole:
            self._has_keys = False
            self._keys, self._logins, self._limits = {}, {}, {}
            self._people = KnownPeople(self._rules)
        self._place = reading.place
        self._has_keys = self._has_keys or reading.has_keys
        merge(self._keys, {name: key if key and key.revoked_at is None else None for name, key in reading.keys.items()})
        merge(self._logins, reading.logins)
        merge(self._limits, reading.limits)
        self._people.apply(reading.people, reading.sessions)

    async def _note(self, used: set[str], seen: set[str]) -> None:
        try:
            if used:
                await self._key_store.mark_used(used, time.time())
            if seen:
                await self._person_store.mark_seen(seen, time.time())
        except OutageError as error:
            logger.warning("the last use of %d keys and logins is not stored: %s", len(used) + len(seen), error)
        except Exception:
            logger.exception("the last use of keys could not be stored")

    def _noted(self, key: ApiKey) -> Principal:
        if key.last_used_at is None or time.time() - key.last_used_at > NOTED_SECONDS:
            self._used.add(key.id)
        return key.principal

    def _noted_person(self, principal: Principal | None) -> Principal | None:
        if principal is not None and principal.person_id is not None:
            person = self.people.by_id[principal.person_id]
            if person.last_seen_at is None or time.time() - person.last_seen_at > NOTED_SECONDS:
                self._seen.add(person.id)
        return principal
