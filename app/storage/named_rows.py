"""Rows that a tenant keeps under unique names."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from app.storage.connection import DatabaseConnection, Row
from app.storage.database import Database
from app.storage.errors import DuplicateError
from app.storage.limits import check_size
from engine.api.errors import ConflictError, NotFoundError


class Named(Protocol):
    """An item with an id, and with a name that is unique in its tenant, or in a part of it."""

    @property
    def id(self) -> str:
        """Return the id."""

    @property
    def name(self) -> str:
        """Return the name."""


T = TypeVar("T", bound=Named)


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedKind(Generic[T]):
    """A kind of named items.

    table: has a tenant and `columns`.
    columns: `id` first.
    noun: the kind in messages; its plural ends with s.
    code: the kind in codes of errors; its plural ends with s.
    values_of: values of the columns except `id`.
    maximum: maximum number of a tenant's items.
    prepare: runs before an item is added or replaced, in the same transaction, with the tenant and the item.
    """

    table: str
    columns: tuple[str, ...]
    noun: str
    code: str
    values_of: Callable[[T], tuple[object, ...]]
    from_row: Callable[[Row], T]
    maximum: int
    prepare: Callable[[DatabaseConnection, str, T], None] = lambda _connection, _tenant, _item: None


class NamedRows(Generic[T]):
    """The items of one kind of a tenant. Each method is one transaction or one read."""

    def __init__(self, database: Database, tenant: str, kind: NamedKind[T]) -> None:
        self._database = database
        self._tenant = tenant
        self._kind = kind

    async def all(self) -> list[T]:
        """Return all items, by name."""
        kind = self._kind
        return await self._database.read_as(
            kind.from_row,
            f"SELECT {', '.join(kind.columns)} FROM {kind.table} WHERE tenant = ? ORDER BY lower(name), name",
            (self._tenant,),
            tenant=self._tenant,
        )

    async def add(self, item: T) -> None:
        """Store a new item.

        Raises:
            ConflictError: another item has the name, or there are as many items as the kind allows.
            LimitReachedError: the tenant's limit on stored bytes is reached.
            InvalidRequestError: the kind has a rule that the item breaks.
        """

        def insert(connection: DatabaseConnection) -> None:
            self._kind.prepare(connection, self._tenant, item)
            insert_named(connection, self._tenant, self._kind, item)

        await self._write(insert, item)

    async def replace(self, item: T) -> None:
        """Replace the item with the same id.

        Raises:
            NotFoundError: no item has the id.
            ConflictError: another item has the name.
            LimitReachedError: the tenant's limit on stored bytes is reached.
            InvalidRequestError: the kind has a rule that the item breaks.
        """
        kind = self._kind
        assignments = ", ".join(f"{column} = ?" for column in kind.columns[1:])

        def update(connection: DatabaseConnection) -> None:
            kind.prepare(connection, self._tenant, item)
            changed = connection.execute(
                f"UPDATE {kind.table} SET {assignments} WHERE id = ? AND tenant = ?",
                (*kind.values_of(item), item.id, self._tenant),
            )
            if not changed:
                raise self.not_found(item.id)
            check_size(connection, self._tenant)

        await self._write(update, item)

    async def remove(self, item_id: str) -> None:
        """Remove an item. Raise NotFoundError."""

        def delete(connection: DatabaseConnection) -> None:
            sql = f"DELETE FROM {self._kind.table} WHERE id = ? AND tenant = ?"
            if not connection.execute(sql, (item_id, self._tenant)):
                raise self.not_found(item_id)

        await self._database.write(delete)

    async def _write(self, change: Callable[[DatabaseConnection], None], item: T) -> None:
        kind = self._kind
        try:
            await self._database.write(change)
        except DuplicateError:
            raise ConflictError(
                f"Another {kind.noun} has the name {item.name!r}", param="name", code=f"{kind.code}_exists"
            ) from None

    def not_found(self, item_id: str) -> NotFoundError:
        """Return the error for an id that no item has."""
        return NotFoundError(
            f"There is no {self._kind.noun} {item_id}", param="id", code=f"{self._kind.code}_not_found"
        )


def insert_named(connection: DatabaseConnection, tenant: str, kind: NamedKind[T], item: T) -> None:
    """Insert a new item, inside the caller's transaction.

    Raises:
        DuplicateError: another item has the name.
        ConflictError: there are as many items as the kind allows.
        LimitReachedError: the tenant's limit on stored bytes is reached.
    """
    added = connection.execute(
        f"INSERT INTO {kind.table}(tenant, {', '.join(kind.columns)}) SELECT ?{', ?' * len(kind.columns)} "
        f"WHERE (SELECT count(*) FROM {kind.table} WHERE tenant = ?) < ?",
        (tenant, item.id, *kind.values_of(item), tenant, kind.maximum),
    )
    if not added:
        raise ConflictError(
            f"There are {kind.maximum} {kind.noun}s already: delete one first", code=f"too_many_{kind.code}s"
        )
    check_size(connection, tenant)
