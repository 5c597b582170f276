"""Requests to the hub, with the client library's conventions, retries, and errors that say what to do next.

The library reads HF_TOKEN, HF_ENDPOINT, HF_HUB_OFFLINE and the saved login. The bytes are read here, since the library
neither verifies digests nor continues a download after its process has ended.
"""

import re
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final, TypeVar

import httpx2
from huggingface_hub import HfApi, constants, hf_hub_url
from huggingface_hub.errors import (
    GatedRepoError,
    HfHubHTTPError,
    HFValidationError,
    OfflineModeIsEnabled,
    RepositoryNotFoundError,
)
from huggingface_hub.utils import (  # type: ignore[attr-defined]  # public, but not re-exported for mypy
    build_hf_headers,
    get_session,
    hf_raise_for_status,
)

from models.download.hub.repository import RepoFile, Repository
from models.download.staging import Progress
from models.errors import DownloadError, ModelError, ModelNotFoundError, TransientError

if TYPE_CHECKING:
    from huggingface_hub.hf_api import ModelInfo, RepoSibling

PAUSES: Final = (1.0, 2.0, 4.0, 8.0, 16.0)
"""Seconds between attempts that brought nothing new."""
COMMIT: Final = re.compile(r"[0-9a-f]{40}")
_LONGEST_PAUSE: Final = 60.0
_TRANSIENT: Final = frozenset({408, 425, 429, 500, 502, 503, 504})

T = TypeVar("T")


class Hub:
    """One hub, by default that of HF_ENDPOINT."""

    def __init__(self, endpoint: str | None = None, pauses: Sequence[float] = PAUSES) -> None:
        """pauses: seconds before each retry; their number bounds attempts in a row that brought nothing new."""
        self.endpoint = (endpoint or constants.ENDPOINT).rstrip("/")
        self._api = HfApi(endpoint=self.endpoint, library_name="ebb")
        self._pauses = pauses

    def repository(self, name: str, progress: Progress) -> Repository:
        """Read the newest commit of the repository `name`.

        Raise ModelNotFoundError if the hub has none of that name, DownloadError if the hub does not answer.
        """

        def read() -> "ModelInfo":
            try:
                with self._errors(name):
                    return self._api.model_info(name, files_metadata=True, timeout=constants.HF_HUB_ETAG_TIMEOUT)
            except (
                ValueError,
                KeyError,
                TypeError,
                AttributeError,
            ) as error:  # whatever a description in another form is
                raise DownloadError(f"{self.endpoint} does not answer like a hub: check HF_ENDPOINT") from error

        info = self._retried(read, progress)
        if not info.sha or not COMMIT.fullmatch(info.sha):
            raise DownloadError(f"{self.endpoint} states no commit of {name}: check HF_ENDPOINT")
        return Repository(
            name,
            info.sha,
            tuple(_file(sibling) for sibling in info.siblings or () if _is_inside(sibling.rfilename)),
            _licence(info),
            info.safetensors.total if info.safetensors is not None else None,
        )

    @contextmanager
    def open(self, repository: Repository, file: RepoFile, start: int) -> Iterator[tuple[int, Iterator[bytes]]]:
        """Open `file` at byte `start`. Yield the byte at which the contents really begin, and the contents.

        Raise TransientError for failures that may pass, including those while the contents are read.
        """
        url = hf_hub_url(repository.name, file.path, revision=repository.commit, endpoint=self.endpoint)
        # A compressed reply has other lengths, and the server would ignore the range.
        headers = {**build_hf_headers(library_name="ebb"), "Accept-Encoding": "identity"}
        if start:
            headers["Range"] = f"bytes={start}-"
        with (
            self._errors(repository.name, file.path),
            get_session().stream("GET", url, headers=headers, timeout=constants.HF_HUB_DOWNLOAD_TIMEOUT) as response,
        ):
            if response.status_code == 416:
                yield 0, iter(())
                return
            hf_raise_for_status(response)
            yield (start if _continues(response, start) else 0), response.iter_bytes()

    def repeat(self, step: Callable[[], bool], progress: Progress) -> None:
        """Call `step` until it returns True, through failures that may pass.

        A step that brought some bytes, but not all, returns False. Raise the last TransientError if more steps in a row
        failed than there are pauses.
        """
        failures = 0
        while True:
            try:
                if step():
                    return
                failures = 0
            except TransientError as error:
                if failures == len(self._pauses):
                    raise
                pause = min(max(self._pauses[failures], error.pause), _LONGEST_PAUSE)
                progress(f"{error}. The next attempt is in {pause:g} s")
                time.sleep(pause)
                failures += 1

    def _retried(self, action: Callable[[], T], progress: Progress) -> T:
        found = list[T]()

        def step() -> bool:
            found.append(action())
            return True

        self.repeat(step, progress)
        return found[0]

    @contextmanager
    def _errors(self, name: str, path: str = "") -> Iterator[None]:
        """Convert the library's errors. path: the file that is read; empty for the repository's description."""
        subject = f"{path} of {name}" if path else name
        try:
            yield
        except HFValidationError as error:
            raise ModelNotFoundError(f"{name!r} is not a name that the hub can have: {error}") from error
        except OfflineModeIsEnabled as error:
            raise DownloadError(
                f"{subject} is not on this machine, and HF_HUB_OFFLINE forbids to fetch it: unset the variable, or use "
                "a folder"
            ) from error
        except HfHubHTTPError as error:
            raise self._refusal(name, path, error) from error
        except (httpx2.InvalidURL, httpx2.UnsupportedProtocol) as error:
            raise DownloadError(f"{self.endpoint} is not the address of a hub: check HF_ENDPOINT") from error
        except httpx2.HTTPError as error:
            message = (
                f"{subject} could not be fetched from {self.endpoint}: {error or type(error).__name__}; check the "
                "network and run the command again"
            )
            # Without a connection there is nothing to continue, and the user should not wait for retries.
            is_lost = path or not isinstance(error, httpx2.ConnectError)
            raise (TransientError if is_lost else DownloadError)(message) from error

    def _refusal(self, name: str, path: str, error: HfHubHTTPError) -> ModelError:
        status, subject = error.response.status_code, f"{path} of {name}" if path else name
        if isinstance(error, GatedRepoError):
            return DownloadError(
                f"{name} is gated: accept its terms at {self.endpoint}/{name}, and set HF_TOKEN to a token of the "
                "account that did"
            )
        if "Invalid credentials" in str(error):
            return DownloadError(f"the hub does not accept the token for {subject}: correct or unset HF_TOKEN")
        if isinstance(error, RepositoryNotFoundError) or (not path and status in (401, 404)):
            return ModelNotFoundError(
                f"{name!r} is not a local folder, and the hub has no such public model; a private one needs HF_TOKEN"
            )
        if status in (401, 403):
            return DownloadError(f"the hub refuses {subject} ({status}): check HF_TOKEN")
        message = f"the hub answered {status} for {subject}"
        if status in _TRANSIENT:
            wait = error.response.headers.get("Retry-After", "")
            return TransientError(f"{message}: try again later", float(wait) if wait.isdigit() else 0.0)
        return DownloadError(f"{message}: check the name and HF_ENDPOINT")


def _continues(response: httpx2.Response, start: int) -> bool:
    """Return whether the reply begins at `start`: servers may send the whole file instead."""
    return response.status_code == 206 and response.headers.get("Content-Range", "").startswith(f"bytes {start}-")


def _file(sibling: "RepoSibling") -> RepoFile:
    lfs = sibling.lfs
    return RepoFile(
        path=sibling.rfilename,
        nbytes=sibling.size or 0,
        sha256=lfs.sha256 if lfs is not None else "",
        git_sha1=sibling.blob_id or "",
    )


def _is_inside(path: str) -> bool:
    """Return whether `path` stays in its folder: it is joined to one on this disk."""
    return not path.startswith("/") and ".." not in path.split("/")


def _licence(info: "ModelInfo") -> str:
    card: dict[str, object] = dict(vars(info.card_data)) if info.card_data is not None else {}
    name = card.get("license")
    stated = card.get("license_name") if name == "other" else name
    tags = (tag.removeprefix("license:") for tag in info.tags or () if tag.startswith("license:"))
    return str(stated or name or next(tags, ""))
