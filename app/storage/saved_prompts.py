"""The saved prompts of a tenant."""

from app.domain.saved_prompt import SavedPrompt
from app.storage.database import Database
from app.storage.named_rows import NamedKind, NamedRows

MAX_SAVED_PROMPTS = 200
"""Maximum number of saved prompts of a tenant."""


class SavedPromptStore:
    """The saved prompts of a tenant. Each method is one transaction or one read."""

    def __init__(self, database: Database, tenant: str) -> None:
        self._rows = NamedRows(database, tenant, KIND)

    async def all(self) -> list[SavedPrompt]:
        """Return the saved prompts, by name."""
        return await self._rows.all()

    async def add(self, prompt: SavedPrompt) -> None:
        """Store a new prompt.

        Raises:
            ConflictError: another prompt has the name, or there are MAX_SAVED_PROMPTS.
            LimitReachedError: the tenant's limit on stored bytes is reached.
        """
        await self._rows.add(prompt, MAX_SAVED_PROMPTS)

    async def replace(self, prompt: SavedPrompt) -> None:
        """Replace the prompt with the same id.

        Raises:
            NotFoundError: there is no such prompt.
            ConflictError: another prompt has the name.
            LimitReachedError: the tenant's limit on stored bytes is reached.
        """
        await self._rows.replace(prompt)

    async def remove(self, prompt_id: str) -> None:
        """Remove a prompt. Raise NotFoundError."""
        await self._rows.remove(prompt_id)


KIND = NamedKind(
    table="saved_prompt",
    columns=("id", "name", "text"),
    noun="saved prompt",
    code="prompt",
    values_of=lambda prompt: (prompt.name, prompt.text),
    from_row=lambda row: SavedPrompt(row["id"], row["name"], row["text"]),
)
