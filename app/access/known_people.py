"""People and their logins as they were read last, with the rules of their groups."""

import time
from collections.abc import Iterable, Mapping

from app.accounts.rules import GroupRules
from app.domain.rights import ALL_RIGHTS, Rights
from app.tenants.limits import NO_LIMITS, TenantLimits
from app.tenants.person import Identity, Person, PersonSession
from app.tenants.principal import Principal, Scope


class KnownPeople:
    """One reading of the accounts. Never changes."""

    def __init__(
        self,
        rules: GroupRules,
        people: Iterable[Person] = (),
        sessions: Mapping[bytes, PersonSession] | None = None,
    ) -> None:
        self._rules = rules
        self.by_id = {person.id: person for person in people}
        self._by_tenant = {person.tenant: person for person in self.by_id.values()}
        self._by_identity = {(who.identity.issuer, who.identity.subject): who for who in self.by_id.values()}
        self._sessions = sessions or {}

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

    def sessions_of(self, person_id: str) -> list[PersonSession]:
        """List the valid logins of a person, the newest first."""
        now = time.time()
        found = [each for each in self._sessions.values() if each.person_id == person_id and each.expires_at > now]
        return sorted(found, key=lambda session: -session.created_at)
