"""A folder of conversations."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Folder:
    """A name under which a tenant collects conversations."""

    id: str
    name: str
