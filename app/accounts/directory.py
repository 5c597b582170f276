"""LDAP login (RFC 4511): search for the entry, then bind as it.

Each call opens a separate connection and blocks, so it belongs in a thread. Certificates are verified whatever the
configuration of libldap says, referrals to other servers are not followed, and no password is sent unencrypted over a
network.
"""

import logging
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

import ldap
from ldap.filter import escape_filter_chars

from app.accounts.errors import DirectoryUnusableError
from app.config.parsers import is_loopback
from app.tenants.person import DIRECTORY, Identity

ANSWER_SECONDS: Final = 10
MAX_GROUPS: Final = 256
MAX_TEXT: Final = 255

_REFUSALS: Final = (
    ldap.INVALID_CREDENTIALS,
    ldap.INVALID_DN_SYNTAX,
    ldap.NO_SUCH_OBJECT,
    ldap.INAPPROPRIATE_AUTH,
    ldap.UNWILLING_TO_PERFORM,
    ldap.CONSTRAINT_VIOLATION,
    ldap.INSUFFICIENT_ACCESS,
)
"""Answers of a directory that does not accept a password, or no longer accepts any from this person."""

Attributes = Mapping[str, list[bytes]]

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class DirectoryPlan:
    """The directory as the settings describe it.

    ca_file: None for the authorities of the system.
    bind_dn, bind_password: account that searches; "" for an anonymous search.
    people_filter: with `{name}`. groups_filter: with `{dn}` or `{name}`.
    groups_base: "" if groups have no meaning here.
    """

    url: str
    people_base: str
    people_filter: str = "(uid={name})"
    id_attribute: str = "entryUUID"
    groups_base: str = ""
    groups_filter: str = "(member={dn})"
    bind_dn: str = ""
    bind_password: str = field(default="", repr=False)
    ca_file: Path | None = None


@dataclass(frozen=True, slots=True)
class Entry:
    """A person of the directory.

    dn: name of the entry, which changes if the entry moves. The identity's subject never does.
    """

    dn: str
    identity: Identity


class Directory:
    """The directory. Every method raises DirectoryUnusableError if the directory gives no usable answer."""

    def __init__(self, plan: DirectoryPlan) -> None:
        self._of = plan

    def check(self) -> None:
        """Search as the server does for a login."""
        self.find("ebb-check")

    def find(self, name: str) -> Entry | None:
        """Return the one person with this name, with the groups; None if there is none, or more than one."""
        with self._connection() as connection:
            connection.simple_bind_s(self._of.bind_dn, self._of.bind_password)
            wanted = self._of.people_filter.replace("{name}", escape_filter_chars(name))
            attributes = [self._of.id_attribute, "displayName", "cn", "mail"]
            found = _entries(self._search(connection, self._of.people_base, wanted, attributes, limit=2))
            if len(found) > 1:
                logger.warning("the filter %s finds several people: none of them can log in", wanted)
            if len(found) != 1:
                return None
            dn, person = found[0]
            return Entry(dn, self._identity(dn, person, self._groups(connection, dn, name)))

    def accepts(self, dn: str | None, password: str) -> bool:
        """Return whether the directory accepts the password of an entry.

        dn: None for an unknown person, who causes the same exchange with the directory as a known one.
        """
        # A bind without a password succeeds as an anonymous one (RFC 4513, section 5.1.2).
        if not password or "\0" in password:
            return False
        with self._connection() as connection:
            try:
                connection.simple_bind_s(dn or self._of.people_base, password)
            except _REFUSALS:
                return False
        return dn is not None

    def _groups(self, connection: Any, dn: str, name: str) -> tuple[str, ...]:
        if not self._of.groups_base:
            return ()
        wanted = self._of.groups_filter.replace("{dn}", escape_filter_chars(dn))
        wanted = wanted.replace("{name}", escape_filter_chars(name))
        found = _entries(self._search(connection, self._of.groups_base, wanted, ["cn"], limit=MAX_GROUPS + 1))
        if len(found) > MAX_GROUPS:
            raise self._unusable(f"{dn} is in more than {MAX_GROUPS} groups: narrow --ldap-groups-filter")
        names = (_text(attributes, "cn") for _, attributes in found)
        return tuple(sorted({each for each in names if each}))

    def _search(self, connection: Any, base: str, wanted: str, attributes: list[str], limit: int) -> list[Any]:
        message = connection.search_ext(
            base, ldap.SCOPE_SUBTREE, wanted, attributes, timeout=ANSWER_SECONDS, sizelimit=limit
        )
        found: list[Any] = []
        try:
            # One by one: what came before the limit counts.
            while True:
                kind, entries = connection.result(message, all=0, timeout=ANSWER_SECONDS)
                found += entries
                if kind == ldap.RES_SEARCH_RESULT:
                    return found
        except ldap.SIZELIMIT_EXCEEDED:
            return found

    def _identity(self, dn: str, person: Attributes, groups: tuple[str, ...]) -> Identity:
        subject = _id(person, self._of.id_attribute)
        if not 0 < len(subject) <= MAX_TEXT:
            raise self._unusable(f"{dn} has no {self._of.id_attribute}: choose another --ldap-id-attribute")
        name = _text(person, "displayName") or _text(person, "cn")
        return Identity(DIRECTORY, subject, name, _text(person, "mail"), groups)

    @contextmanager
    def _connection(self) -> Iterator[Any]:
        connection = None
        try:
            connection = ldap.initialize(self._of.url)
            self._protect(connection)
            yield connection
        except ldap.LDAPError as error:
            raise self._unusable(_reason(error)) from error
        finally:
            if connection is not None:
                _close(connection)

    def _protect(self, connection: Any) -> None:
        connection.protocol_version = ldap.VERSION3
        connection.set_option(ldap.OPT_REFERRALS, ldap.OPT_OFF)
        connection.set_option(ldap.OPT_NETWORK_TIMEOUT, ANSWER_SECONDS)
        connection.set_option(ldap.OPT_TIMEOUT, ANSWER_SECONDS)
        connection.set_option(ldap.OPT_X_TLS_REQUIRE_CERT, ldap.OPT_X_TLS_DEMAND)
        connection.set_option(ldap.OPT_X_TLS_PROTOCOL_MIN, ldap.OPT_X_TLS_PROTOCOL_TLS1_2)
        if self._of.ca_file is not None:
            connection.set_option(ldap.OPT_X_TLS_CACERTFILE, str(self._of.ca_file))
        # The options of TLS take effect in a new context only.
        connection.set_option(ldap.OPT_X_TLS_NEWCTX, 0)
        url = urlsplit(self._of.url)
        if url.scheme == "ldap" and not is_loopback(url.hostname or ""):
            connection.start_tls_s()

    def _unusable(self, reason: str) -> DirectoryUnusableError:
        logger.warning("the directory %s cannot be used: %s", self._of.url, reason)
        return DirectoryUnusableError(reason)


def _entries(found: list[Any]) -> list[tuple[str, Attributes]]:
    """Return the entries of a search, without references to other servers."""
    return [(dn, attributes) for dn, attributes in found if dn is not None]


def _close(connection: Any) -> None:
    try:
        connection.unbind_s()
    except ldap.LDAPError:
        logger.debug("the connection to the directory had ended already")


def _reason(error: Exception) -> str:
    details = error.args[0] if error.args and isinstance(error.args[0], dict) else {}
    return " ".join(str(details[part]) for part in ("desc", "info") if details.get(part)) or type(error).__name__


def _text(attributes: Attributes, name: str) -> str:
    values = _values(attributes, name)
    return "".join(filter(str.isprintable, values[0].decode(errors="replace")))[:MAX_TEXT] if values else ""


def _id(attributes: Attributes, name: str) -> str:
    values = _values(attributes, name)
    if len(values) != 1:
        return ""
    if name.lower() == "objectguid":
        return str(uuid.UUID(bytes_le=values[0])) if len(values[0]) == 16 else ""
    return values[0].decode() if values[0].isascii() else values[0].hex()


def _values(attributes: Attributes, name: str) -> list[bytes]:
    """Return the values of an attribute, whose name the directory may write in another case."""
    return next((values for key, values in attributes.items() if key.lower() == name.lower()), [])
