"""The ways in which people log in, as the settings describe them."""

import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, cast

from app.accounts.attempts import AttemptSealer
from app.accounts.failed_logins import FailedLogins
from app.accounts.known_browsers import KnownBrowsers
from app.accounts.login_provider import CALLBACK_PATH, SAML_PATH, LoginProvider
from app.accounts.passwords import Passwords
from app.accounts.proxy_login import ProxyLogin
from app.accounts.rules import GroupRules
from app.accounts.scim_plan import MIN_TOKEN, ScimPlan, SubjectAttribute
from app.config.extras import install_command
from app.config.options import SettingsError
from app.config.settings import Settings
from app.domain.digests import digest_of
from app.tenants.person import DIRECTORY, PROXY
from app.tenants.principal import Scope

if TYPE_CHECKING:
    from app.accounts.directory import Directory
    from app.accounts.saml.provider import SamlProvider


@dataclass(frozen=True, slots=True, kw_only=True)
class Accounts:
    """Logins of people.

    provider: None without an OpenID provider.
    proxy: None without a proxy that authenticates people.
    directory: None without a directory of people.
    saml: None without a SAML provider.
    scim: None unless a provider provisions people.
    login_seconds: length of a login of a person.
    secret: source of the keys of cookies from before a login, which servers of one database share.
    """

    provider: LoginProvider | None = None
    proxy: ProxyLogin | None = None
    directory: "Directory | None" = None
    rules: GroupRules = field(default_factory=GroupRules)
    login_seconds: float = 12 * 3600.0
    saml: "SamlProvider | None" = None
    scim: ScimPlan | None = None
    secret: bytes = field(default_factory=lambda: secrets.token_bytes(32), repr=False)
    passwords: Passwords = field(default_factory=Passwords, repr=False)
    failed: FailedLogins = field(default_factory=FailedLogins, repr=False)
    sealer: AttemptSealer = field(init=False, repr=False)
    browsers: KnownBrowsers = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "sealer", AttemptSealer(self.secret))
        object.__setattr__(self, "browsers", KnownBrowsers(self.secret))


def accounts_of(settings: Settings) -> Accounts:
    """Make the logins that the settings describe. Raise SettingsError if they contradict each other."""
    if settings.has_accounts and settings.without_keys:
        raise SettingsError("--without-keys serves every client, so no person can log in", param="without-keys")
    roles = cast("Mapping[str, Scope]", settings.login_groups)
    saml = _saml(settings) if settings.saml_metadata_file is not None else None
    return Accounts(
        provider=_provider(settings) if settings.oidc_issuer else None,
        proxy=_proxy(settings) if settings.proxy_user_header else None,
        directory=_directory(settings) if settings.ldap_url else None,
        rules=GroupRules(
            roles,
            settings.group_limits,
            admits_own=settings.passwords,
            default_rights=settings.default_rights,
            rights=settings.group_rights,
        ),
        login_seconds=settings.login_hours * 3600.0,
        saml=saml,
        scim=_scim(settings, saml) if settings.scim_token_file is not None else None,
    )


def _provider(settings: Settings) -> LoginProvider:
    # A server without a provider starts without its libraries.
    from app.accounts.provider import OidcClient, OidcProvider

    if not settings.oidc_client_id:
        raise SettingsError("--oidc-issuer needs --oidc-client-id", param="oidc-client-id")
    if not settings.public_url:
        raise SettingsError(
            "--oidc-issuer needs --public-url, the address to which the provider sends people back", param="public-url"
        )
    if "openid" not in settings.oidc_scopes.split():
        raise SettingsError("--oidc-scopes must contain openid", param="oidc-scopes")
    return OidcProvider(
        OidcClient(
            issuer=settings.oidc_issuer,
            client_id=settings.oidc_client_id,
            secret=_secret("oidc-client-secret-file", settings.oidc_client_secret_file),
            scopes=settings.oidc_scopes,
            groups_claim=settings.oidc_groups_claim,
            redirect_uri=f"{settings.public_url}{CALLBACK_PATH}",
            home=f"{settings.public_url}/",
        )
    )


def _saml(settings: Settings) -> "SamlProvider":
    # As with OpenID, and with the libraries of XML.
    from app.accounts.saml.identity_provider import read_metadata
    from app.accounts.saml.provider import SamlPlan, SamlProvider
    from app.accounts.saml.service import SamlService

    if settings.oidc_issuer:
        raise SettingsError("--saml-metadata-file and --oidc-issuer exclude each other", param="saml-metadata-file")
    if not settings.public_url:
        raise SettingsError(
            "--saml-metadata-file needs --public-url, the address to which the provider sends people back",
            param="public-url",
        )
    path = settings.saml_metadata_file
    assert path is not None
    try:
        provider = read_metadata(path)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise SettingsError(f"--saml-metadata-file {path}: {reason}", param="saml-metadata-file") from error
    url = f"{settings.public_url}{SAML_PATH}"
    plan = SamlPlan(provider, SamlService(url, url), settings.saml_groups_attribute, settings.saml_subject_attribute)
    return SamlProvider(plan)


def _proxy(settings: Settings) -> ProxyLogin:
    if not settings.proxy_addresses:
        raise SettingsError(
            "--proxy-user-header needs --proxy-addresses, since every other client could send the header too",
            param="proxy-addresses",
        )
    return ProxyLogin(settings.proxy_user_header, settings.proxy_groups_header, settings.proxy_addresses)


def _directory(settings: Settings) -> "Directory":
    # A server without a directory starts without its library, which an extra installs.
    try:
        from app.accounts.directory import Directory, DirectoryPlan
    except ImportError as error:
        raise SettingsError(
            f"--ldap-url needs python-ldap ({error}): {install_command('ldap')}", param="ldap-url"
        ) from error

    _check_directory(settings)
    return Directory(
        DirectoryPlan(
            url=settings.ldap_url,
            people_base=settings.ldap_people_base,
            people_filter=settings.ldap_people_filter,
            id_attribute=settings.ldap_id_attribute,
            groups_base=settings.ldap_groups_base,
            groups_filter=settings.ldap_groups_filter,
            bind_dn=settings.ldap_bind_dn,
            bind_password=_secret("ldap-bind-password-file", settings.ldap_bind_password_file),
            ca_file=settings.ldap_ca_file,
        )
    )


def _scim(settings: Settings, saml: "SamlProvider | None") -> ScimPlan:
    issuers = {
        "oidc": settings.oidc_issuer,
        "saml": saml.issuer if saml is not None else "",
        "ldap": DIRECTORY if settings.ldap_url else "",
        "proxy": PROXY if settings.proxy_user_header else "",
    }
    possible = [name for name, issuer in issuers.items() if issuer and settings.scim_login in ("", name)]
    if len(possible) != 1:
        raise SettingsError(
            f"--scim-login must name the login of the provisioned people: {' or '.join(issuers)}, which must be set up",
            param="scim-login",
        )
    token = _secret("scim-token-file", settings.scim_token_file)
    if len(token) < MIN_TOKEN:
        raise SettingsError(
            f"The token in --scim-token-file needs at least {MIN_TOKEN} characters: openssl rand -hex 32",
            param="scim-token-file",
        )
    subject = cast(SubjectAttribute, settings.scim_subject)
    return ScimPlan(digest_of(token), issuers[possible[0]], subject, settings.public_url)


def _check_directory(settings: Settings) -> None:
    if not settings.ldap_people_base:
        raise SettingsError("--ldap-url needs --ldap-people-base, where people are searched", param="ldap-people-base")
    if settings.login_groups and not settings.ldap_groups_base:
        raise SettingsError(
            "--login-groups needs --ldap-groups-base, since people of the directory are otherwise in no group",
            param="ldap-groups-base",
        )
    if bool(settings.ldap_bind_dn) != (settings.ldap_bind_password_file is not None):
        raise SettingsError(
            "--ldap-bind-dn and --ldap-bind-password-file are needed together", param="ldap-bind-password-file"
        )
    if settings.ldap_ca_file is not None and not settings.ldap_ca_file.is_file():
        raise SettingsError(f"--ldap-ca-file {settings.ldap_ca_file}: no such file", param="ldap-ca-file")


def _secret(name: str, path: Path | None) -> str:
    if path is None:
        return ""
    try:
        secret = path.read_text(encoding="utf-8").strip()
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "not UTF-8 text"
        raise SettingsError(f"--{name} {path}: {reason}", param=name) from error
    if not secret:
        raise SettingsError(f"--{name} {path} is empty", param=name)
    return secret
