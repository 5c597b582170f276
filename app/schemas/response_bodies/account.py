"""Response bodies of /api/account, and of the people under /api/admin."""

from typing_extensions import TypedDict

from app.domain.rights import RIGHTS, Right, Rights
from app.schemas.admin import Limits
from app.tenants.person import Person, PersonSession
from app.tenants.principal import Scope


class PasswordState(TypedDict):
    """The password of a person.

    is_initial: whether an administrator set it, so that the person should change it.
    second_factor: whether logins require a code as well.
    """

    is_initial: bool
    second_factor: bool


class SecondFactor(TypedDict):
    """A second factor to set up.

    secret: the text to type into an authenticator. uri: the same as an address, for a QR code.
    """

    secret: str
    uri: str


class RecoveryCodes(TypedDict):
    """Codes that replace the second factor, each for one login. They cannot be read again."""

    codes: list[str]


class Account(TypedDict):
    """The account of the caller.

    name, email: empty where unknown, and for a login with a key.
    is_person: whether a person has logged in, who can make keys and end sessions.
    password: state of the person's password on this server; null without one.
    logout_url: address that ends the session at the provider, too; null without one.
    """

    tenant: str
    name: str
    email: str
    scope: Scope
    is_person: bool
    limits: Limits
    password: PasswordState | None
    logout_url: str | None


class Session(TypedDict):
    """A login of a person in one browser.

    client: browser and system, as far as the browser names them.
    current: whether it is the login of this request.
    """

    id: str
    client: str
    created_at: float
    expires_at: float
    current: bool


class Sessions(TypedDict):
    """The valid logins of a person, the newest first."""

    data: list[Session]


class Counts(TypedDict):
    """Answers and their tokens.

    cached_tokens: part of the prompts' tokens that was not computed again.
    """

    answers: int
    prompt_tokens: int
    cached_tokens: int
    completion_tokens: int


class DayUsage(Counts):
    """Tokens of the answers of one day.

    day: date in UTC, such as 2026-11-23.
    """

    day: str


class ChatUsage(Counts):
    """Tokens of the answers of one chat."""

    conversation_id: str
    title: str | None


class AccountUsage(TypedDict):
    """Tokens of stored answers: by day, the newest first, and of the chats with the most tokens."""

    days: list[DayUsage]
    chats: list[ChatUsage]


class TenantUsage(TypedDict):
    """Tokens of a tenant's stored answers by day, the newest first."""

    days: list[DayUsage]


class AdminPerson(TypedDict):
    """A person, for administrators.

    scope: role by the groups; null if no group of the person may log in.
    rights: features that the groups allow.
    last_seen_at: accurate to about an hour; null before the first login.
    disabled_at: null while the person is not disabled.
    """

    id: str
    tenant: str
    name: str
    email: str
    issuer: str
    groups: list[str]
    scope: Scope | None
    rights: list[Right]
    created_at: float
    last_seen_at: float | None
    disabled_at: float | None


class InitialPassword(TypedDict):
    """A password that the person should change, and that cannot be read again."""

    password: str


class NewAdminPerson(AdminPerson):
    """A person that was just created, with the initial password, which cannot be read again."""

    password: str


class AdminPersonPage(TypedDict):
    """A page of the people that ever logged in, or have a password.

    next_cursor: cursor of the next page; null on the last page.
    """

    data: list[AdminPerson]
    next_cursor: str | None


def session_body(session: PersonSession, current: str | None) -> Session:
    """Serialize a login. `current`: id of the login of this request."""
    return {
        "id": session.id,
        "client": session.client,
        "created_at": session.created_at,
        "expires_at": session.expires_at,
        "current": session.id == current,
    }


def person_body(person: Person, scope: Scope | None, rights: Rights) -> AdminPerson:
    """Serialize a person for administrators."""
    return {
        "id": person.id,
        "tenant": person.tenant,
        "name": person.shown_name,
        "email": person.identity.email,
        "issuer": person.identity.issuer,
        "groups": list(person.identity.groups),
        "scope": scope,
        "rights": [right for right in RIGHTS if right in rights],
        "created_at": person.created_at,
        "last_seen_at": person.last_seen_at,
        "disabled_at": person.disabled_at,
    }


class FormerChats(TypedDict):
    """Chats from before the first key that the caller may take over, or has taken over.

    unclaimed: whether there are such chats that only another login may take over.
    """

    chats: int
    unclaimed: bool
