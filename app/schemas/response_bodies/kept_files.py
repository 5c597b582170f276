"""Response bodies of kept files."""

from typing_extensions import TypedDict

from app.domain import library as domain


class KeptFile(TypedDict):
    """A kept file without its text.

    characters: length of the text.
    """

    id: str
    name: str
    characters: int
    kept_at: float


class KeptFileText(KeptFile):
    """A kept file."""

    text: str


class KeptFiles(TypedDict):
    """The kept files of a tenant, the newest first."""

    data: list[KeptFile]


def kept_file_body(file: domain.KeptFile) -> KeptFile:
    """Serialize a kept file without its text."""
    return {"id": file.id, "name": file.name, "characters": file.characters, "kept_at": file.kept_at}
