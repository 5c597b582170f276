"""Names and contents of model repositories at the hub."""

import re
from dataclasses import dataclass
from typing import Final

from models.errors import DownloadError

_DIGEST: Final = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
_NAME: Final = re.compile(r"(?P<repository>[\w.-]+/[\w.-]+)(?::(?P<choice>[^:]+))?")


@dataclass(frozen=True, slots=True)
class HubName:
    """Name of a model at the hub, such as org/model or org/model:Q4_K_M.

    choice: quantization or path of a GGUF file in the repository; empty for the safetensors files.
    """

    repository: str
    choice: str = ""

    @classmethod
    def parse(cls, text: str) -> "HubName | None":
        """Parse `text`; return None if it is not of the form owner/name or owner/name:choice."""
        found = _NAME.fullmatch(text)
        if found is None or found["repository"].lower().endswith(".gguf"):
            return None
        return cls(found["repository"], found["choice"] or "")

    def __str__(self) -> str:
        return f"{self.repository}:{self.choice}" if self.choice else self.repository


@dataclass(frozen=True, slots=True)
class RepoFile:
    """One file of a repository.

    path: path in the repository, with slashes.
    sha256: digest of a file that the hub stores outside git; empty for files in git.
    git_sha1: id of the file's blob in git; for a file outside git, that of a pointer.
    """

    path: str
    nbytes: int
    sha256: str
    git_sha1: str

    @property
    def digest(self) -> str:
        """Digest of the contents, which also names the file on this disk. Raise DownloadError if there is none."""
        digest = self.sha256 or self.git_sha1
        if not _DIGEST.fullmatch(digest):
            raise DownloadError(f"the hub states no checksum of {self.path}: check HF_ENDPOINT")
        return digest


@dataclass(frozen=True, slots=True)
class Repository:
    """One commit of a repository.

    licence: as its authors state it; empty if they do not.
    parameters: number of parameters of the safetensors files, as the hub counted them; None if it did not.
    """

    name: str
    commit: str
    files: tuple[RepoFile, ...]
    licence: str
    parameters: int | None
