"""Settings of provisioning (SCIM): a provider creates, groups and disables the people of the server."""

from dataclasses import dataclass
from pathlib import Path

from app.config.options import any_path, one_of, setting


@dataclass(frozen=True, kw_only=True)
class ProvisioningSettings:
    """Provisioning by one provider. Without `scim_token_file` there is none."""

    scim_token_file: Path | None = setting(
        None,
        any_path,
        "FILE",
        "file with the token of a provider that provisions people and groups at `/scim/v2` "
        "([accounts](accounts.md#provisioning))",
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
