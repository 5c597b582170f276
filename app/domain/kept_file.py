"""Kept files: the texts of files that a person may attach to messages again."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class KeptFile:
    """A file in the library of a tenant, without its text.

    characters: length of the text. kept_at: Unix seconds.
    """

    id: str
    name: str
    characters: int
    kept_at: float
