"""Rules of groups: who may log in, with which role, limits and rights."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, fields

from app.domain.rights import ALL_RIGHTS, Rights
from app.tenants.limits import NO_LIMITS, TenantLimits
from app.tenants.person import ADMIN_GROUP, OWN, Identity
from app.tenants.principal import Scope


@dataclass(frozen=True, slots=True)
class GroupRules:
    """Rules of all groups.

    roles: role by group; empty if every person may log in as a user.
    limits: limits by group and name. A person gets the highest limit that any of the groups sets.
    admits_own: whether people with a password of this server may log in. Their roles need no rules.
    default_rights: rights of every person. rights: further ones by group.
    """

    roles: Mapping[str, Scope] = field(default_factory=dict)
    limits: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    admits_own: bool = False
    default_rights: Rights = ALL_RIGHTS
    rights: Mapping[str, Rights] = field(default_factory=dict)

    def role_of(self, identity: Identity) -> Scope | None:
        """Return the role of a person; None if the person may not log in."""
        groups = identity.groups
        if identity.issuer == OWN:
            return None if not self.admits_own else "admin" if ADMIN_GROUP in groups else "user"
        if not self.roles:
            return "user"
        found = {self.roles[group] for group in groups if group in self.roles}
        return "admin" if "admin" in found else "user" if found else None

    def rights_of(self, identity: Identity) -> Rights:
        """Return the rights of a person: those of everybody, and those of the groups. Administrators have all."""
        if self.role_of(identity) == "admin":
            return ALL_RIGHTS
        groups = identity.groups if identity.issuer != OWN else ()
        return self.default_rights.union(*(self.rights.get(group, frozenset()) for group in groups))

    def limits_of(self, groups: Collection[str]) -> TenantLimits:
        """Return the limits of a person in `groups`."""
        highest: dict[str, int] = {}
        for group in groups:
            for name, number in self.limits.get(group, {}).items():
                highest[name] = max(number, highest.get(name, 0))
        return TenantLimits(**highest) if highest else NO_LIMITS


def combined_limits(own: TenantLimits, of_groups: TenantLimits) -> TenantLimits:
    """Combine the limits that an administrator set for one tenant with those of its groups. The former come first."""
    if of_groups == NO_LIMITS:
        return own
    pairs = {each.name: (getattr(own, each.name), getattr(of_groups, each.name)) for each in fields(TenantLimits)}
    return TenantLimits(**{name: first if first is not None else second for name, (first, second) in pairs.items()})
