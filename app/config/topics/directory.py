"""Settings of a directory (LDAP) whose people log in with their names and passwords there."""

from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from app.config.options import any_path, any_text, setting

_NAME = "{name}"


def _url(text: str) -> str:
    url = urlsplit(text)
    if url.scheme not in ("ldap", "ldaps") or not url.hostname or url.path.strip("/") or url.query or url.username:
        raise ValueError(f"{text!r} is not the URL of a directory, such as ldaps://directory.example")
    return text


def _filter(text: str) -> str:
    if not (text.startswith("(") and text.endswith(")") and text.count("(") == text.count(")")):
        raise ValueError(f"{text!r} is not a filter in parentheses, such as (uid={_NAME})")
    return text


def _people_filter(text: str) -> str:
    if _NAME not in text:
        raise ValueError(f"{text!r} does not contain {_NAME}, which stands for the name that a person types")
    return _filter(text)


def _groups_filter(text: str) -> str:
    if _NAME not in text and "{dn}" not in text:
        raise ValueError(f"{text!r} contains neither {{dn}} nor {_NAME}, which stand for the person")
    return _filter(text)


@dataclass(frozen=True, kw_only=True)
class DirectorySettings:
    """A directory of people. Without `ldap_url` there is none."""

    ldap_url: str = setting(
        "",
        _url,
        "URL",
        "directory (LDAP) whose people log in with their passwords there ([accounts](guides/accounts.md#a-directory)); "
        "`ldap://` uses StartTLS, except on this machine; needs `pip install 'ebb-chat[ldap]'`",
        default_text="none",
    )
    ldap_ca_file: Path | None = setting(
        None,
        any_path,
        "FILE",
        "certificates (PEM) of the authorities that the directory's certificate may come from",
        default_text="those of the system",
    )
    ldap_bind_dn: str = setting(
        "", any_text, "DN", "account that searches the directory; without it the search is anonymous", "none"
    )
    ldap_bind_password_file: Path | None = setting(
        None, any_path, "FILE", "file with the password of that account", default_text="none"
    )
    ldap_people_base: str = setting(
        "", any_text, "DN", "entry below which people are searched: `ou=people,dc=example,dc=org`", "none"
    )
    ldap_people_filter: str = setting(
        f"(uid={_NAME})",
        _people_filter,
        "FILTER",
        "filter that finds a person; for Active Directory `(sAMAccountName={name})`",
    )
    ldap_id_attribute: str = setting(
        "entryUUID",
        any_text,
        "ATTRIBUTE",
        "attribute that never changes and is never given again; for Active Directory `objectGUID`",
    )
    ldap_groups_base: str = setting(
        "", any_text, "DN", "entry below which a person's groups are searched, which their `cn` names", "none"
    )
    ldap_groups_filter: str = setting(
        "(member={dn})",
        _groups_filter,
        "FILTER",
        "filter that finds the groups of a person; `{dn}` is the person's entry, `{name}` the name as typed",
    )
