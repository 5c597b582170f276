"""Response bodies of folders."""

from typing_extensions import TypedDict

from app.domain import folder


class Folder(TypedDict):
    """A folder of conversations."""

    id: str
    name: str


class Folders(TypedDict):
    """The folders of a tenant, by name."""

    data: list[Folder]


def folder_body(given: folder.Folder) -> Folder:
    """Serialize a folder."""
    return {"id": given.id, "name": given.name}
