"""Resolution of model names to folders. The hub is a small local server that speaks the hub's protocol."""

import hashlib
import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from models.errors import ModelNotFoundError
from models.resolve import DEFAULT_MODEL, find_model, resolve_model
from tests.conftest import default_cache_dir
from tests.tiny_gguf import write_tiny_gguf
from tests.tiny_models import make_tiny_model

ROOT = Path(__file__).parents[3]
COMMIT = "a" * 40

CHILD = """
import sys
from pathlib import Path
from models.errors import ModelError
from models.resolve import resolve_model
try:
    print("folder:", resolve_model(sys.argv[1], Path(sys.argv[2]), print))
except ModelError as error:
    print(type(error).__name__, error)
"""


def resolve_with_hub(name: str, cache: Path, endpoint: str) -> str:
    """Resolve a name in a separate process, since the hub's client reads its settings on import. Return its output."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "HF_ENDPOINT": endpoint, "HF_HUB_DISABLE_XET": "1"}
    command = [sys.executable, "-c", CHILD, name, str(cache)]
    return subprocess.run(command, env=environment, cwd=ROOT, capture_output=True, text=True, timeout=120).stdout


@pytest.fixture
def hub(tmp_path: Path) -> Iterator[str]:
    """URL of a hub with one repository, org/tiny, which has a file in a subfolder that no model folder needs."""
    folder = make_tiny_model(tmp_path / "served")
    (folder / "onnx").mkdir()
    (folder / "onnx" / "config.json").write_text("{}")
    names = [str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()]

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            prefix = f"/org/tiny/resolve/{COMMIT}/"
            if self.path.startswith("/api/models/org/tiny/tree/"):
                sizes = {name: (folder / name).stat().st_size for name in names}
                tree = [{"type": "file", "path": name, "size": sizes[name], "oid": name} for name in names]
                self.answer(json.dumps(tree).encode())
            elif self.path.startswith("/api/models/org/tiny"):
                siblings = [{"rfilename": name} for name in names]
                self.answer(json.dumps({"id": "org/tiny", "sha": COMMIT, "siblings": siblings}).encode())
            elif self.path.startswith(prefix) and self.path.removeprefix(prefix) in names:
                self.answer((folder / self.path.removeprefix(prefix)).read_bytes())
            else:
                self.answer(b"{}", status=404)

        do_HEAD = do_GET  # noqa: N815

        def answer(self, body: bytes, *, status: int = 200) -> None:
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.send_header("ETag", f'"{hashlib.sha1(body).hexdigest()}"')
            self.send_header("X-Repo-Commit", COMMIT)
            if status == 404:
                self.send_header("X-Error-Code", "RepoNotFound")
            self.end_headers()
            if self.command == "GET":
                self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()
        thread.join()


def test_default_model_is_found_by_its_names(model_path: Path) -> None:
    assert resolve_model(DEFAULT_MODEL, default_cache_dir(), print) == model_path
    assert resolve_model("SmolLM2-135M-Instruct", default_cache_dir(), print) == model_path


def test_folder_path_resolves_to_itself(tmp_path: Path) -> None:
    folder = make_tiny_model(tmp_path / "mine")
    assert resolve_model(str(folder), tmp_path / "cache", print) == folder
    assert not (tmp_path / "cache").exists()


def test_folder_without_a_model_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ModelNotFoundError, match=r"no config\.json"):
        resolve_model(str(tmp_path), tmp_path, print)


def test_file_of_another_format_is_refused(tmp_path: Path) -> None:
    (tmp_path / "model.bin").touch()
    with pytest.raises(ModelNotFoundError, match=r"use a folder or a \.gguf file"):
        resolve_model(str(tmp_path / "model.bin"), tmp_path, print)


@pytest.mark.parametrize("name", ["gpt-9", "/no/such/folder", "missing/file.gguf", "a/b/c"])
def test_unknown_name_is_refused_listing_the_alternatives(tmp_path: Path, name: str) -> None:
    with pytest.raises(ModelNotFoundError, match=f"use {DEFAULT_MODEL}, a folder, a .gguf file, or a hub id"):
        resolve_model(name, tmp_path, print)


def test_find_model_neither_downloads_nor_converts(tmp_path: Path) -> None:
    folder, file = make_tiny_model(tmp_path / "mine"), write_tiny_gguf(tmp_path / "tiny.gguf")
    cache = tmp_path / "cache"
    assert find_model(str(folder), cache) == folder
    for name in (DEFAULT_MODEL, str(file), "org/tiny", str(tmp_path)):
        assert find_model(name, cache) is None
    assert not cache.exists()
    converted = resolve_model(str(file), cache, print)
    assert find_model(str(file), cache) == converted


def test_hub_id_is_downloaded_once_and_found_offline(tmp_path: Path, hub: str) -> None:
    cache = tmp_path / "cache"
    first = resolve_with_hub("org/tiny", cache, hub)
    assert "Fetching org/tiny from the Hugging Face hub\n" in first
    folder = Path(first.rpartition("folder: ")[2].strip())
    assert folder.is_relative_to(cache)
    served = tmp_path / "served"
    assert {path.name for path in folder.iterdir()} == {path.name for path in served.iterdir() if path.is_file()}
    assert (folder / "model.safetensors").read_bytes() == (served / "model.safetensors").read_bytes()
    assert resolve_with_hub("org/tiny", cache, "http://127.0.0.1:9").endswith(f"folder: {folder}\n")


def test_unknown_hub_id_is_refused(tmp_path: Path, hub: str) -> None:
    assert "ModelNotFoundError 'org/none' is not a local folder" in resolve_with_hub("org/none", tmp_path, hub)


def test_unreachable_hub_is_a_download_error(tmp_path: Path) -> None:
    output = resolve_with_hub("org/tiny", tmp_path, "http://127.0.0.1:9")
    assert "DownloadError org/tiny could not be fetched from the hub; check the network." in output
