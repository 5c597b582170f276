"""A server that speaks the protocol of the Hugging Face hub, with a CDN on another port, and faults on request."""

import gzip
import hashlib
import json
import re
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

TOKEN = "hf_right"
LARGE = (".safetensors", ".gguf")
"""Suffixes of files that the hub keeps outside git, and serves from its CDN."""


@dataclass(frozen=True)
class Fault:
    """A fault of one reply.

    status: status of an empty reply; 0 for none. cut: bytes after which the connection is lost; -1 for none.
    ignores_range: the whole file is sent. damages: the first byte is another one.
    """

    status: int = 0
    cut: int = -1
    ignores_range: bool = False
    damages: bool = False


@dataclass(frozen=True)
class Asked:
    """A request that the hub or its CDN received."""

    server: str
    path: str
    range: str
    token: str


@dataclass
class HubServer:
    """Repositories by name, each with files by path. Change them between requests as a user of the hub would.

    faults: faults of the next replies with contents, by the last part of the file's path.
    """

    repositories: dict[str, dict[str, bytes]]
    gated: set[str] = field(default_factory=set)
    licences: dict[str, str] = field(default_factory=dict)
    faults: dict[str, list[Fault]] = field(default_factory=dict)
    asked: list[Asked] = field(default_factory=list)
    url: str = ""
    cdn_url: str = ""

    def requests_of(self, name: str) -> list[Asked]:
        """Return the requests for contents of the file whose path ends with `name`, at the server that sent them."""
        server = "cdn" if name.endswith(LARGE) else "hub"
        return [asked for asked in self.asked if asked.server == server and asked.path.endswith(name)]

    def commit(self, name: str) -> str:
        """Return the commit of a repository, which follows from its contents."""
        files = self.repositories[name]
        return hashlib.sha1("".join(f"{path}:{git_sha1(files[path])}" for path in sorted(files)).encode()).hexdigest()

    def description(self, name: str) -> dict[str, object]:
        """Return the answer to /api/models/NAME?blobs=true."""
        siblings = []
        for path, contents in self.repositories[name].items():
            sibling: dict[str, object] = {"rfilename": path, "size": len(contents), "blobId": git_sha1(contents)}
            if path.endswith(LARGE):
                sibling["lfs"] = {
                    "sha256": hashlib.sha256(contents).hexdigest(),
                    "size": len(contents),
                    "pointerSize": 130,
                }
            siblings.append(sibling)
        tags = [f"license:{self.licences[name]}"] if name in self.licences else []
        return {"id": name, "sha": self.commit(name), "siblings": siblings, "tags": tags}


def folder_contents(folder: Path) -> dict[str, bytes]:
    """Read all files below `folder`, by their relative paths."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def git_sha1(contents: bytes) -> str:
    """Return the id of a git blob."""
    return hashlib.sha1(f"blob {len(contents)}\0".encode() + contents).hexdigest()


@contextmanager
def serve_hub(repositories: Mapping[str, Mapping[str, bytes]]) -> Iterator[HubServer]:
    """Serve `repositories` on two ports of the loopback interface: the hub's and the CDN's."""
    hub = HubServer({name: dict(files) for name, files in repositories.items()})
    with _serve(_handler(hub, "cdn")) as hub.cdn_url, _serve(_handler(hub, "hub")) as hub.url:
        yield hub


@contextmanager
def hub_of_this_process(url: str) -> Iterator[None]:
    """Make a hub the one that this process asks. huggingface_hub reads HF_ENDPOINT only when it is imported."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("huggingface_hub.constants.ENDPOINT", url)
        template = f"{url}/{{repo_id}}/resolve/{{revision}}/{{filename}}"
        patch.setattr("huggingface_hub.constants.HUGGINGFACE_CO_URL_TEMPLATE", template)
        yield


@contextmanager
def _serve(handler: type[BaseHTTPRequestHandler]) -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}"
        finally:
            server.shutdown()
            thread.join()


def _handler(hub: HubServer, server: str) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            path = self.path.partition("?")[0]
            hub.asked.append(Asked(server, path, self.headers.get("Range", ""), self.headers.get("Authorization", "")))
            if server == "cdn":
                _, name, file = re.split(r"/cdn/([\w.-]+/[\w.-]+)/", path)
                self.send_contents(file, hub.repositories[name][file], {"ETag": '"of-the-cdn"'})
            elif path.startswith("/api/models/"):
                self.describe(path.removeprefix("/api/models/"))
            else:
                self.resolve(path)

        def describe(self, name: str) -> None:
            if (faults := hub.faults.get("api")) and (fault := faults.pop(0)).status:
                self.send_empty(fault.status, {})
            elif name not in hub.repositories:
                self.send_empty(401, {})
            else:
                self.send(200, json.dumps(hub.description(name)).encode(), {"Content-Type": "application/json"})

        def resolve(self, path: str) -> None:
            found = re.fullmatch(r"/([\w.-]+/[\w.-]+)/resolve/(\w+)/(.+)", path)
            assert found is not None
            name, commit, file = found.groups()
            if name in hub.gated and self.headers.get("Authorization") != f"Bearer {TOKEN}":
                self.send_empty(403 if "Authorization" in self.headers else 401, {"X-Error-Code": "GatedRepo"})
                return
            if commit != hub.commit(name):
                self.send_empty(404, {"X-Error-Code": "RevisionNotFound"})
                return
            contents = hub.repositories[name][file]
            headers = {"X-Repo-Commit": commit}
            if not file.endswith(LARGE):
                self.send_contents(file, contents, headers | {"ETag": f'"{git_sha1(contents)}"'})
                return
            linked = {"X-Linked-Etag": f'"{hashlib.sha256(contents).hexdigest()}"', "X-Linked-Size": str(len(contents))}
            self.send_empty(302, headers | linked | {"Location": f"{hub.cdn_url}/cdn/{name}/{file}?Signature=x"})

        def send_contents(self, file: str, contents: bytes, headers: dict[str, str]) -> None:
            faults = hub.faults.get(file.rpartition("/")[2], [])
            fault = faults.pop(0) if faults else Fault()
            if fault.status:
                self.send_empty(fault.status, {"Retry-After": "0"})
                return
            if fault.damages:
                contents = bytes([contents[0] ^ 1]) + contents[1:]
            if "gzip" in self.headers.get("Accept-Encoding", "") and not file.endswith(LARGE):
                self.send(200, gzip.compress(contents), headers | {"Content-Encoding": "gzip"})
                return
            asked = re.fullmatch(r"bytes=(\d+)-", self.headers.get("Range", ""))
            start = int(asked[1]) if asked is not None and not fault.ignores_range else 0
            if start >= len(contents) > 0:
                self.send_empty(416, {"Content-Range": f"bytes */{len(contents)}"})
                return
            if start:
                headers |= {"Content-Range": f"bytes {start}-{len(contents) - 1}/{len(contents)}"}
            self.send(206 if start else 200, contents[start:], headers, fault.cut)

        def send_empty(self, status: int, headers: dict[str, str]) -> None:
            self.send(status, b"", headers)

        def send(self, status: int, body: bytes, headers: dict[str, str], cut: int = -1) -> None:
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body if cut < 0 else body[:cut])

        def log_message(self, format: str, *args: object) -> None:
            pass

    return Handler
