"""Bodies of requests and responses of folders."""

from typing import Annotated

from pydantic import Field
from typing_extensions import TypedDict

from app.domain import folder
from app.domain.bounds import MAX_FOLDER_NAME, MAX_FOLDER_PROMPT
from app.schemas.parsing import RequestModel


class FolderFields(RequestModel):
    """Body of a request that creates or changes a folder.

    parent_id: the folder that this one is inside; null for the top.
    system_prompt: that of new conversations in the folder, and in folders inside it that have none.
    """

    examples = ({"name": "Sailing"},)

    name: Annotated[str, Field(min_length=1, max_length=MAX_FOLDER_NAME)]
    parent_id: str | None = None
    system_prompt: Annotated[str, Field(max_length=MAX_FOLDER_PROMPT)] | None = None

    def folder(self, folder_id: str) -> folder.Folder:
        """Return the folder with these fields."""
        return folder.Folder(folder_id, self.name, self.parent_id, self.system_prompt or None)


class Folder(TypedDict):
    """A folder of conversations. `parent_id` is the folder that it is inside."""

    id: str
    name: str
    parent_id: str | None
    system_prompt: str | None


class Folders(TypedDict):
    """The folders of a tenant, by name.

    counts: number of chats directly in each folder that has any, by its id, without archived ones.
    tags: tags of the chats, without archived ones.
    """

    data: list[Folder]
    counts: dict[str, int]
    tags: list[str]


def folder_body(given: folder.Folder) -> Folder:
    """Serialize a folder."""
    return {
        "id": given.id,
        "name": given.name,
        "parent_id": given.parent_id,
        "system_prompt": given.system_prompt,
    }
