"""Settings of people's accounts: passwords, OpenID and SAML providers, a proxy, provisioning, groups, prices."""

import re
from dataclasses import MISSING, dataclass
from pathlib import Path
from urllib.parse import urlsplit

from app.config.options import any_path, any_text, integer, one_of, setting, switch
from app.config.parsers import (
    GroupLimits,
    GroupRights,
    GroupRoles,
    Network,
    is_loopback,
    parse_group_limits,
    parse_group_rights,
    parse_group_roles,
    parse_networks,
    parse_rights,
    parse_token_prices,
)
from app.domain.rights import ALL_RIGHTS, Rights
from app.domain.token_prices import TokenPrices

_HEADER = re.compile(r"[A-Za-z0-9-]{1,64}", re.ASCII)


def _issuer(text: str) -> str:
    url = urlsplit(text)
    secure = url.scheme == "https" or (url.scheme == "http" and is_loopback(url.hostname or ""))
    if not (secure and url.hostname) or url.query or url.fragment or url.username:
        raise ValueError(f"{text!r} is not the https URL of a provider, such as https://login.example/realms/home")
    return text


def _header(text: str) -> str:
    if _HEADER.fullmatch(text) is None:
        raise ValueError(f"{text!r} is not the name of a header, such as X-Forwarded-User")
    return text.lower()


@dataclass(frozen=True, kw_only=True)
class AccountSettings:
    """Accounts of people. All are off by default."""

    passwords: bool = setting(
        False,
        switch,
        "",
        "let people log in with a name and a password ([accounts](guides/accounts.md#passwords)); add them with "
        "`ebb people add`",
    )
    oidc_issuer: str = setting(
        "",
        _issuer,
        "URL",
        "issuer of the OpenID provider at which people log in; needs `--public-url` ([accounts](guides/accounts.md))",
        default_text="none",
    )
    oidc_client_id: str = setting(
        "", any_text, "ID", "id under which the provider knows this server", default_text="none"
    )
    oidc_client_secret_file: Path | None = setting(
        None,
        any_path,
        "FILE",
        "file with the secret of that client; without one the client is public",
        default_text="none",
    )
    oidc_scopes: str = setting("openid profile email", any_text, "SCOPES", "scopes to ask for, separated by spaces")
    oidc_groups_claim: str = setting(
        "groups", any_text, "CLAIM", "claim with a person's groups; a dot leads into an object: `realm_access.roles`"
    )
    proxy_user_header: str = setting(
        "",
        _header,
        "HEADER",
        "header in which a proxy names the person that it has authenticated ([accounts](guides/accounts.md#a-proxy))",
        default_text="none",
    )
    proxy_groups_header: str = setting(
        "",
        _header,
        "HEADER",
        "header in which that proxy names the person's groups, separated by commas",
        default_text="none",
    )
    proxy_addresses: tuple[Network, ...] = setting(
        (),
        parse_networks,
        "ADDRESS,...",
        "addresses of that proxy; requests with the header from any other address are refused",
        default_text="none",
    )
    login_groups: GroupRoles = setting(
        MISSING,
        parse_group_roles,
        "GROUP=ROLE,...",
        "groups that may log in, and the role of each, `user` or `admin`; without it every person is a `user`",
        default_text="none",
        default_factory=dict,
    )
    group_limits: GroupLimits = setting(
        MISSING,
        parse_group_limits,
        "GROUP.LIMIT=N,...",
        "limits of the people of a group: `staff.concurrent-runs=2` ([accounts](guides/accounts.md#groups))",
        default_text="none",
        default_factory=dict,
    )
    default_rights: Rights = setting(
        ALL_RIGHTS,
        parse_rights,
        "RIGHT+...",
        "rights of every person: `all`, `none`, or some of `keys`, `share-links`, `temporary-chats`, `files`, `import` "
        "and `export` ([accounts](guides/accounts.md#rights))",
        default_text="`all`",
    )
    group_rights: GroupRights = setting(
        MISSING,
        parse_group_rights,
        "GROUP=RIGHT+...,...",
        "further rights of the people of a group: `staff=keys+files`",
        default_text="none",
        default_factory=dict,
    )
    login_hours: int = setting(12, integer(1, 720), "HOURS", "length of a person's login")
    token_prices: TokenPrices | None = setting(
        None,
        parse_token_prices,
        "NAME=PRICE,...",
        "prices of a million tokens, for the costs on the page: `currency=EUR,input=0.2,cached=0.02,output=0.8` "
        "([accounts](guides/accounts.md#costs))",
        default_text="none",
    )


@dataclass(frozen=True, kw_only=True)
class SamlSettings:
    """Logins at a SAML 2.0 provider. Without `saml_metadata_file` there are none."""

    saml_metadata_file: Path | None = setting(
        None,
        any_path,
        "FILE",
        "metadata (XML) of the SAML provider at which people log in; needs `--public-url` "
        "([accounts](guides/accounts.md#a-saml-provider))",
        default_text="none",
    )
    saml_subject_attribute: str = setting(
        "", any_text, "ATTRIBUTE", "attribute that names a person and never changes", "the NameID"
    )
    saml_groups_attribute: str = setting("groups", any_text, "ATTRIBUTE", "attribute with a person's groups")


@dataclass(frozen=True, kw_only=True)
class ProvisioningSettings:
    """Provisioning by one provider. Without `scim_token_file` there is none."""

    scim_token_file: Path | None = setting(
        None,
        any_path,
        "FILE",
        "file with the token of a provider that provisions people and groups at `/scim/v2` "
        "([accounts](guides/accounts.md#provisioning))",
        default_text="none",
    )
    scim_login: str = setting(
        "",
        one_of("", "oidc", "saml", "ldap", "proxy"),
        "LOGIN",
        "where those people log in: `oidc`, `saml`, `ldap` or `proxy`",
        default_text="the only one of them that is set up",
    )
    scim_subject: str = setting(
        "externalId",
        one_of("externalId", "userName"),
        "ATTRIBUTE",
        "attribute of a provisioned user that names the person at that login: `externalId` or `userName`",
    )
