"""Request body of folders."""

from typing import Annotated

from pydantic import Field

from app.domain.bounds import MAX_FOLDER_NAME, MAX_FOLDER_PROMPT
from app.domain.folder import Folder
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

    def folder(self, folder_id: str) -> Folder:
        """Return the folder with these fields."""
        return Folder(folder_id, self.name, self.parent_id, self.system_prompt or None)
