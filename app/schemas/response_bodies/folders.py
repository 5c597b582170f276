"""Response bodies of folders."""

from typing_extensions import TypedDict

from app.domain import folder


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
