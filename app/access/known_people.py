"""People and their logins as they were read last, with the rules of their groups."""

import time
from collections.abc import Mapping
from typing import TypeVar

from app.accounts.rules import GroupRules
from app.domain.rights import ALL_RIGHTS, Rights
from app.tenants.limits import NO_LIMITS, TenantLimits
from app.tenants.person import Identity, Person, PersonSession
from app.tenants.principal import Principal, Scope

K = TypeVar("K")
T = TypeVar("T")


class KnownPeople:
    """The accounts and their logins."""

    def __init__(self, rules: GroupRules) -> None:
        self._rules = rules
        self.by_id: dict[str, Person] = {}
        self._by_tenant: dict[str, Person] = {}
        self._by_identity: dict[tuple[str, str], Person] = {}
        self._sessions: dict[bytes, PersonSession] = {}

    def apply(self, people: Mapping[str, Person | None], sessions: Mapping[bytes, PersonSession | None]) -> None:
        """Replace the people and logins that have changed. None stands for a removed one."""
        for person_id, person in people.items():
            self._forget(person_id)
            if person is not None:
                self.by_id[person_id] = self._by_tenant[person.tenant] = person
                self._by_identity[_names(person)] = person
        merge(self._sessions, sessions)

    def _forget(self, person_id: str) -> None:
        person = self.by_id.pop(person_id, None)
        if person is None:
            return
        del self._by_tenant[person.tenant]
        # Another person of the same reading may have the identity now.
        if self._by_identity.get(_names(person)) is person:
            del self._by_identity[_names(person)]

    def person_of(self, identity: Identity) -> Person | None:
        """Return the account of an identity; None before the first login."""
        return self._by_identity.get((identity.issuer, identity.subject))

    def tenant_owner(self, tenant: str) -> Person | None:
        """Return the person that a tenant belongs to; None for a tenant of keys alone."""
        return self._by_tenant.get(tenant)

    def role_of(self, person: Person) -> Scope | None:
        """Return the person's role; None if the person is disabled, or in no group that may log in."""
        return None if person.disabled_at is not None else self._rules.role_of(person.identity)

    def shuts_out(self, tenant: str) -> bool:
        """Return whether a tenant belongs to a person who may not use the server, so that its keys do not work."""
        person = self._by_tenant.get(tenant)
        return person is not None and self.role_of(person) is None

    def rights_of(self, tenant: str) -> Rights:
        """Return the rights of a tenant's person, with a login as with a key. A tenant of keys alone has all."""
        person = self._by_tenant.get(tenant)
        return self._rules.rights_of(person.identity) if person is not None else ALL_RIGHTS

    def limits_of(self, tenant: str) -> TenantLimits:
        """Return the limits that follow from the groups of a tenant's person."""
        person = self._by_tenant.get(tenant)
        return self._rules.limits_of(person.identity.groups) if person is not None else NO_LIMITS

    def session(self, digest: bytes) -> PersonSession | None:
        """Return the login with this digest, even if it has expired; None if there is none."""
        return self._sessions.get(digest)

    def by_session(self, digest: bytes) -> Principal | None:
        """Return the principal of the login with this digest; None if the login is not valid."""
        session = self._sessions.get(digest)
        if session is None or session.expires_at <= time.time():
            return None
        person = self.by_id.get(session.person_id)
        return self.principal_of(person, session.id) if person is not None else None

    def principal_of(self, person: Person, session_id: str | None = None) -> Principal | None:
        """Return the principal of a person that has logged in; None if the person may not use the server."""
        role = self.role_of(person)
        return Principal(person.tenant, role, None, person.id, session_id) if role is not None else None


def merge(known: dict[K, T], changed: Mapping[K, T | None]) -> None:
    """Replace the entries of `known` that have changed, and remove those that are None."""
    for key, value in changed.items():
        if value is None:
            known.pop(key, None)
        else:
            known[key] = value


def _names(person: Person) -> tuple[str, str]:
    return person.identity.issuer, person.identity.subject
