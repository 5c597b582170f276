"""`ebb people`: manage people with passwords in the database itself, whether or not a server is running."""

import getpass
import sys
from collections.abc import Sequence

from app.accounts.passwords import Passwords, check_password, new_password
from app.cli.keys import day, with_store
from app.config.settings import Settings
from app.storage.passwords import StoredPassword
from app.storage.store import Store
from app.storage.tenant_removal import remove_tenant
from app.storage.tenants import StoredTenant
from app.tenants.person import ADMIN_GROUP, OWN, Person
from engine.api.errors import InvalidRequestError, NotFoundError


def add(settings: Settings, name: str, admin: bool = False) -> int:
    """Create a person, and print the initial password on standard output."""
    password = new_password()

    async def create(store: Store) -> Person:
        return await store.passwords.add(name, await Passwords().digest(password), admin=admin)

    person = with_store(settings, create)
    print(password)
    role = "administrator" if admin else "user"
    print(
        f"{person.shown_name} can log in as {role} with this password, which is shown only once. A server with "
        "--passwords accepts it within a second",
        file=sys.stderr,
    )
    return 0


def list_people(settings: Settings) -> int:
    """Print one line for each person."""
    people = with_store(settings, lambda store: store.people.all())
    if not people:
        print("There are no people. To create one: ebb people add NAME", file=sys.stderr)
    for person in people:
        role = "" if person.identity.issuer != OWN else "admin" if ADMIN_GROUP in person.identity.groups else "user"
        origin = "password" if person.identity.issuer == OWN else person.identity.issuer
        state = f"disabled {day(person.disabled_at)}" if person.disabled_at is not None else "may log in"
        print(f"{person.shown_name:<20}  {role:<5}  {origin:<20}  tenant {person.tenant}  {state}")
    return 0


def set_password(settings: Settings, name: str) -> int:
    """Ask for a person's new password, remove the second factor, and end the person's logins.

    Standard input is read if it is no terminal. Raise NotFoundError, InvalidRequestError.
    """

    async def find(store: Store) -> StoredPassword | None:
        return await store.passwords.find(name)

    stored = with_store(settings, find)
    if stored is None:
        raise NotFoundError(f"There is no person {name} with a password. To create one: ebb people add {name}")
    password = check_password(_asked(name), param="password")

    async def reset(store: Store) -> None:
        await store.passwords.reset(stored.person_id, await Passwords().digest(password))

    with_store(settings, reset)
    print(f"{name} has a new password, and has to log in again", file=sys.stderr)
    return 0


def remove(settings: Settings, name: str, yes: bool = False) -> int:
    """Delete a person with all chats, for good, once that is confirmed. Raise NotFoundError, InvalidRequestError."""

    async def find(store: Store) -> tuple[Person, StoredTenant]:
        person = _named(name, await store.people.all())
        return person, await store.tenants.one(person.tenant)

    person, has = with_store(settings, find)
    counts = f"{has.conversations} chats, all files, {has.keys} keys and all logins"
    goes = f"{person.shown_name} (tenant {person.tenant}) with {counts}"
    if not yes and not _is_confirmed(f"Delete {goes} for good? Type yes: "):
        print("Nothing was deleted", file=sys.stderr)
        return 1
    with_store(settings, lambda store: remove_tenant(store, person.tenant))
    print(f"Deleted {goes}", file=sys.stderr)
    return 0


def _named(name: str, people: Sequence[Person]) -> Person:
    wanted = name.lower()
    found = [each for each in people if wanted in (each.tenant, each.shown_name.lower(), each.identity.subject.lower())]
    if not found:
        raise NotFoundError(f"There is no person {name}. To list all: ebb people list")
    if len(found) > 1:
        tenants = ", ".join(each.tenant for each in found)
        raise InvalidRequestError(f"{len(found)} people are named {name}. Give the tenant of one: {tenants}")
    return found[0]


def _is_confirmed(question: str) -> bool:
    print(question, end="", file=sys.stderr, flush=True)
    return sys.stdin.readline().strip().lower() == "yes"


def _asked(name: str) -> str:
    if sys.stdin.isatty():
        return getpass.getpass(f"New password of {name}: ")
    return sys.stdin.readline().rstrip("\n")
