"""People with an account: who they are at a provider or a proxy, and the tenant that each of them is."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Identity:
    """A person as a provider, or a trusted proxy, has just described them.

    issuer: URL of the provider, DIRECTORY, PROXY or OWN.
    subject: stable name of the person at the issuer. Names of two issuers never mean the same person.
    name: name to show; "" if unknown.
    """

    issuer: str
    subject: str
    name: str = ""
    email: str = ""
    groups: tuple[str, ...] = ()


OWN = "ebb"
"""Issuer of the people who log in with a password of this server. Like PROXY, it is no URL."""

ADMIN_GROUP = "admin"
"""Group of those among them who administer the server."""

DIRECTORY = "directory"
"""Issuer of the people of the directory."""

PROXY = "proxy"
"""Issuer of the people that a trusted proxy names. No provider has this name, since it is no URL."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Person:
    """An account. Times are Unix seconds.

    tenant: drawn at the first login; the salt of the person's KV is derived from it, as from a key's tenant.
    last_seen_at: accurate to about an hour; None before the first login.
    disabled_at: None while the person may log in.
    provisioned: whether a provider manages the account and its groups (SCIM), instead of the logins.
    """

    id: str
    tenant: str
    identity: Identity
    created_at: float
    last_seen_at: float | None
    disabled_at: float | None = None
    provisioned: bool = False

    @property
    def shown_name(self) -> str:
        """Name for the page and for administrators."""
        return self.identity.name or self.identity.email or self.identity.subject


@dataclass(frozen=True, slots=True)
class PersonSession:
    """A login of a person in one browser. Times are Unix seconds.

    id: name of the session in lists; not the secret in the cookie.
    client: browser and system, as the person recognizes them.
    """

    id: str
    person_id: str
    client: str
    created_at: float
    expires_at: float
