"""The saved prompts of a tenant."""

from collections.abc import Callable

from app.domain.saved_prompt import SavedPrompt
from app.storage.connection import Connection
from app.storage.database import Database
from app.storage.errors import DuplicateError
from app.storage.limits import check_size
from engine.errors import ConflictError, NotFoundError

MAX_SAVED_PROMPTS = 200
"""Maximum number of saved prompts of a tenant."""


class SavedPromptStore:
    """The saved prompts of a tenant. Each method is one transaction or one read."""

    def __init__(self, database: Database, tenant: str) -> None:
        self._database = database
        self._tenant = tenant

    async def all(self) -> list[SavedPrompt]:
        """Return the saved prompts, by name."""
        return await self._database.read_as(
            lambda row: SavedPrompt(row["id"], row["name"], row["text"]),
            "SELECT id, name, text FROM saved_prompt WHERE tenant = ? ORDER BY lower(name), name",
            (self._tenant,),
            tenant=self._tenant,
        )

    async def add(self, prompt: SavedPrompt) -> None:
        """Store a new prompt.

        Raises:
            ConflictError: another prompt has the name, or there are MAX_SAVED_PROMPTS.
            LimitReachedError: the tenant's limit on stored bytes is reached.
        """

        def insert(connection: Connection) -> None:
            added = connection.execute(
                "INSERT INTO saved_prompt(id, tenant, name, text) SELECT ?, ?, ?, ? "
                "WHERE (SELECT count(*) FROM saved_prompt WHERE tenant = ?) < ?",
                (prompt.id, self._tenant, prompt.name, prompt.text, self._tenant, MAX_SAVED_PROMPTS),
            )
            if not added:
                raise ConflictError(
                    f"There are {MAX_SAVED_PROMPTS} saved prompts already: delete one first", code="too_many_prompts"
                )
            check_size(connection, self._tenant)

        await self._write(insert, prompt)

    async def replace(self, prompt: SavedPrompt) -> None:
        """Replace the prompt with the same id.

        Raises:
            NotFoundError: there is no such prompt.
            ConflictError: another prompt has the name.
            LimitReachedError: the tenant's limit on stored bytes is reached.
        """

        def update(connection: Connection) -> None:
            changed = connection.execute(
                "UPDATE saved_prompt SET name = ?, text = ? WHERE id = ? AND tenant = ?",
                (prompt.name, prompt.text, prompt.id, self._tenant),
            )
            if not changed:
                raise _no_prompt(prompt.id)
            check_size(connection, self._tenant)

        await self._write(update, prompt)

    async def remove(self, prompt_id: str) -> None:
        """Remove a prompt. Raises NotFoundError."""

        def delete(connection: Connection) -> None:
            sql = "DELETE FROM saved_prompt WHERE id = ? AND tenant = ?"
            if not connection.execute(sql, (prompt_id, self._tenant)):
                raise _no_prompt(prompt_id)

        await self._database.write(delete)

    async def _write(self, change: Callable[[Connection], None], prompt: SavedPrompt) -> None:
        try:
            await self._database.write(change)
        except DuplicateError:
            raise ConflictError(
                f"Another saved prompt has the name {prompt.name!r}", param="name", code="prompt_exists"
            ) from None


def _no_prompt(prompt_id: str) -> NotFoundError:
    return NotFoundError(f"There is no saved prompt {prompt_id}", param="id", code="prompt_not_found")
