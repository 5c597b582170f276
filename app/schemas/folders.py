"""Request body of folders."""

from typing import Annotated

from pydantic import Field

from app.domain.bounds import MAX_FOLDER_NAME
from app.domain.folder import Folder
from app.schemas.parsing import RequestModel


class FolderFields(RequestModel):
    """Body of a request that creates or renames a folder."""

    name: Annotated[str, Field(min_length=1, max_length=MAX_FOLDER_NAME)]

    def folder(self, folder_id: str) -> Folder:
        """Return the folder with these fields."""
        return Folder(folder_id, self.name)
