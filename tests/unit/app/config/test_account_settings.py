"""Settings of accounts: clear refusals of what would be unsafe or without effect."""

from pathlib import Path

import pytest

from app.accounts.accounts import accounts_of
from app.config.options import SettingsError
from app.config.settings import load_settings
from app.domain.rights import RIGHTS, Right
from app.tenants.person import ADMIN_GROUP, OWN, Identity
from tests.saml_provider import SamlKeys

HOME = {"HOME": "/home/ann"}
OIDC = {"oidc-issuer": "https://login.example", "oidc-client-id": "ebb", "public-url": "https://chat.example"}
PROXY = {"proxy-user-header": "Remote-User", "proxy-addresses": "10.0.0.1"}


@pytest.mark.parametrize(
    ("flags", "reason"),
    [
        ({"oidc-issuer": "http://login.example"}, "https URL"),
        ({"oidc-issuer": "login.example"}, "https URL"),
        ({"proxy-addresses": "0.0.0.0/0"}, "every address"),
        ({"proxy-addresses": "proxy.example"}, "not an address"),
        ({"proxy-user-header": "Remote User"}, "name of a header"),
        ({"login-groups": "staff=root"}, "must be user or admin"),
        ({"group-limits": "staff.conversations=5"}, "does not end with the name of a limit"),
        ({"group-limits": "staff.concurrent-runs=many"}, "whole number"),
        ({"default-rights": "keys+root"}, "'root' is no right"),
        ({"group-rights": "staff"}, "group=keys"),
        ({"group-rights": "staff=keys,staff=all"}, "named twice"),
        ({"ldap-url": "https://directory.example"}, "URL of a directory"),
        ({"ldap-url": "ldap:///dc=example"}, "URL of a directory"),
        ({"ldap-people-filter": "(uid=ada)"}, "does not contain {name}"),
        ({"ldap-people-filter": "uid={name}"}, "in parentheses"),
        ({"ldap-groups-filter": "(cn=staff)"}, "contains neither"),
    ],
)
def test_wrong_value_is_refused_with_the_reason(flags: dict[str, str], reason: str) -> None:
    with pytest.raises(SettingsError, match=reason):
        load_settings(flags, environ=HOME)


@pytest.mark.parametrize(
    ("flags", "missing"),
    [
        ({key: value for key, value in OIDC.items() if key != "public-url"}, "public-url"),
        ({key: value for key, value in OIDC.items() if key != "oidc-client-id"}, "oidc-client-id"),
        (OIDC | {"oidc-scopes": "profile"}, "oidc-scopes"),
        (OIDC | {"oidc-client-secret-file": "/nowhere"}, "oidc-client-secret-file"),
        ({"proxy-user-header": "Remote-User"}, "proxy-addresses"),
        (OIDC | {"without-keys": "true"}, "without-keys"),
    ],
)
def test_incomplete_settings_name_the_one_at_fault(flags: dict[str, str], missing: str) -> None:
    with pytest.raises(SettingsError) as refused:
        accounts_of(load_settings(flags, environ=HOME))
    assert refused.value.param == missing


def test_complete_settings_make_both_logins(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("s3cret\n")
    flags = OIDC | PROXY | {"oidc-client-secret-file": str(tmp_path / "secret"), "login-hours": "2"}
    accounts = accounts_of(load_settings(flags, environ=HOME))
    assert accounts.provider is not None
    assert accounts.provider.label == "login.example"
    assert accounts.proxy is not None
    assert accounts.login_seconds == 7200


def test_groups_add_rights_to_those_of_every_person() -> None:
    flags = {"default-rights": "files", "group-rights": "staff=keys+export,ops=all", "passwords": "true"}
    rules = accounts_of(load_settings(flags, environ=HOME)).rules
    cases: list[tuple[tuple[str, ...], set[Right]]] = [
        ((), {"files"}),
        (("staff",), {"files", "keys", "export"}),
        (("visitors", "staff"), {"files", "keys", "export"}),
        (("ops",), set(RIGHTS)),
    ]
    for groups, rights in cases:
        assert rules.rights_of(Identity("https://login.example", "ada", groups=groups)) == rights
    assert rules.rights_of(Identity(OWN, "ada", groups=("ops",))) == {"files"}, "groups of a provider mean nothing here"
    assert rules.rights_of(Identity(OWN, "ada", groups=(ADMIN_GROUP,))) == set(RIGHTS)
    assert accounts_of(load_settings(PROXY, environ=HOME)).rules.rights_of(Identity("proxy", "ada")) == set(RIGHTS)


def test_provisioning_needs_one_login_and_a_long_token(tmp_path: Path) -> None:
    token = tmp_path / "token"
    token.write_text("t" * 40)
    scim = {"scim-token-file": str(token)}
    for flags, missing in (
        (scim, "scim-login"),
        (scim | OIDC | PROXY, "scim-login"),
        (scim | OIDC | {"scim-login": "proxy"}, "scim-login"),
    ):
        with pytest.raises(SettingsError) as refused:
            accounts_of(load_settings(flags, environ=HOME))
        assert refused.value.param == missing
    plan = accounts_of(load_settings(scim | OIDC | PROXY | {"scim-login": "oidc"}, environ=HOME)).scim
    assert plan is not None
    assert (plan.issuer, plan.subject, plan.home) == ("https://login.example", "externalId", "https://chat.example")
    assert [plan.admits(f"{kind} {'t' * 40}") for kind in ("Bearer", "bearer", "Basic")] == [True, True, False]
    token.write_text("t" * 31)
    with pytest.raises(SettingsError, match="at least 32 characters"):
        accounts_of(load_settings(scim | OIDC, environ=HOME))


def test_saml_needs_usable_metadata_and_an_address(tmp_path: Path) -> None:
    metadata, keys = tmp_path / "saml.xml", SamlKeys()
    metadata.write_text(keys.metadata())
    saml = {"saml-metadata-file": str(metadata), "public-url": "https://chat.example"}
    provider = accounts_of(load_settings(saml, environ=HOME)).saml
    assert provider is not None
    assert (provider.label, provider.service.answer_url) == ("login.example", "https://chat.example/login/saml")
    for flags, missing in (
        ({"saml-metadata-file": str(metadata)}, "public-url"),
        (saml | OIDC, "saml-metadata-file"),
        (saml | {"saml-metadata-file": "/nowhere"}, "saml-metadata-file"),
    ):
        with pytest.raises(SettingsError) as refused:
            accounts_of(load_settings(flags, environ=HOME))
        assert refused.value.param == missing
    for text, reason in (
        ("<x/>", "describes 0 login providers"),
        (keys.metadata(login_url="http://login.example/saml"), "does not use https"),
        (keys.metadata().replace('use="signing"', 'use="encryption"'), "no certificate"),
        (keys.metadata().replace("HTTP-Redirect", "SOAP"), "HTTP-Redirect"),
    ):
        metadata.write_text(text)
        with pytest.raises(SettingsError, match=reason):
            accounts_of(load_settings(saml, environ=HOME))


def test_groups_give_the_highest_role_and_limits() -> None:
    text = "staff.concurrent-runs=2,ops.concurrent-runs=5,ops.tokens-per-minute=9"
    rules = accounts_of(
        load_settings({"login-groups": "staff=user,ops=admin", "group-limits": text}, environ=HOME)
    ).rules
    people = [
        Identity("https://login.example", "ada", groups=groups)
        for groups in (("staff",), ("staff", "ops"), ("visitors",), ())
    ]
    assert [rules.role_of(person) for person in people] == [
        "user",
        "admin",
        None,
        None,
    ]
    limits = rules.limits_of(["staff", "ops"])
    assert (limits.concurrent_runs, limits.tokens_per_minute, limits.requests_per_minute) == (5, 9, None)


def test_passwords_admit_own_people_whatever_their_groups() -> None:
    own, admin = Identity(OWN, "ada"), Identity(OWN, "root", groups=(ADMIN_GROUP,))
    on = accounts_of(load_settings({"passwords": "true", "login-groups": "staff=user"}, environ=HOME)).rules
    assert [on.role_of(person) for person in (own, admin)] == ["user", "admin"]
    off = accounts_of(load_settings(OIDC, environ=HOME)).rules
    assert [off.role_of(person) for person in (own, admin)] == [None, None]
