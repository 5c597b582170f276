"""Folders of conversations, which can be inside each other."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Folder:
    """A place where a tenant collects conversations.

    parent_id: the folder that this one is inside; None at the top.
    system_prompt: that of a new conversation in the folder, and in those inside it that have none.
    """

    id: str
    name: str
    parent_id: str | None = None
    system_prompt: str | None = None


@dataclass(frozen=True, slots=True)
class FolderLevel:
    """A folder on a path from the top down, which another tenant or server may not have yet.

    system_prompt: as in `Folder`.
    """

    name: str
    system_prompt: str | None = None


class FolderTree:
    """All folders of a tenant."""

    def __init__(self, folders: Iterable[Folder]) -> None:
        self._folders: Mapping[str, Folder] = {each.id: each for each in folders}

    def __contains__(self, folder_id: str) -> bool:
        """Return whether there is a folder with this id."""
        return folder_id in self._folders

    def way_up(self, folder_id: str | None) -> list[Folder]:
        """Return a folder, the one that it is inside, and so on to the top; nothing for a folder that is gone."""
        way = []
        while folder_id is not None and (folder := self._folders.get(folder_id)) is not None:
            way.append(folder)
            folder_id = folder.parent_id
        return way

    def path(self, folder_id: str | None) -> tuple[FolderLevel, ...]:
        """Return the levels from the top down to a folder."""
        return tuple(FolderLevel(each.name, each.system_prompt) for each in reversed(self.way_up(folder_id)))

    def height(self, folder_id: str) -> int:
        """Return the number of levels that a folder and those inside it have."""
        depth = len(self.way_up(folder_id))
        ways = [self.way_up(each) for each in self._folders]
        return 1 + max((len(way) - depth for way in ways if any(each.id == folder_id for each in way)), default=0)

    def system_prompt(self, folder_id: str | None) -> str | None:
        """Return the system prompt of new conversations in a folder: the nearest one on the way up."""
        given = (each.system_prompt for each in self.way_up(folder_id))
        return next((prompt for prompt in given if prompt is not None), None)
