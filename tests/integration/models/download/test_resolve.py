"""Resolution of model names to folders. The hub is a small local server that speaks the hub's protocol."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from huggingface_hub import close_session

from models.download.resolve import DEFAULT_MODEL, find_model, resolve_model
from models.errors import ModelError, ModelNotFoundError
from tests.conftest import default_cache_dir
from tests.hub_server import folder_contents, hub_of_this_process, serve_hub
from tests.tiny_gguf import write_tiny_gguf
from tests.tiny_models import make_tiny_model

ROOT = Path(__file__).parents[3]

OFFLINE = """
import sys
from pathlib import Path
from models.errors import DownloadError
from models.download.resolve import resolve_model
try:
    print("folder:", resolve_model(sys.argv[1], Path(sys.argv[2]), print))
except DownloadError as error:
    print(error)
"""


def resolve_with_hub(name: str, cache: Path, endpoint: str) -> str:
    """Resolve a name. Return the lines of progress, and then the folder or the error."""
    lines: list[str] = []
    with hub_of_this_process(endpoint):
        try:
            lines.append(f"folder: {resolve_model(name, cache, lines.append)}")
        except ModelError as error:
            lines.append(f"{type(error).__name__} {error}")
        finally:
            close_session()
    return "".join(f"{line}\n" for line in lines)


def resolve_offline(name: str, cache: Path, endpoint: str) -> str:
    """Resolve a name in a process that finds HF_HUB_OFFLINE when it imports the hub's client. Return its output."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "HF_ENDPOINT": endpoint, "HF_HUB_OFFLINE": "1"}
    command = [sys.executable, "-c", OFFLINE, name, str(cache)]
    return subprocess.run(command, env=environment, cwd=ROOT, capture_output=True, text=True, timeout=120).stdout


def folder_of(output: str) -> Path:
    return Path(output.rpartition("folder: ")[2].strip())


@pytest.fixture
def hub(tmp_path: Path) -> Iterator[str]:
    """URL of a hub with one repository, org/tiny, which has a folder's files and GGUF files."""
    files = folder_contents(make_tiny_model(tmp_path / "served"))
    gguf = write_tiny_gguf(tmp_path / "tiny.gguf").read_bytes()
    quantized = {"tiny-Q4_K_M.gguf": gguf, "tiny-Q8_0.gguf": gguf[:-1], "mmproj-tiny-Q8_0.gguf": b""}
    with serve_hub({"org/tiny": files | quantized}) as server:
        yield server.url


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
    assert f"Asking {hub} for org/tiny\n" in first
    folder = folder_of(first)
    assert folder_contents(folder) == folder_contents(tmp_path / "served")
    assert find_model("org/tiny", cache) == folder
    assert resolve_with_hub("org/tiny", cache, "http://127.0.0.1:9") == f"folder: {folder}\n"
    assert resolve_offline("org/tiny", cache, hub) == f"folder: {folder}\n"


def test_offline_variable_forbids_a_download(tmp_path: Path, hub: str) -> None:
    output = resolve_offline("org/tiny", tmp_path / "cache", hub)
    assert "org/tiny is not on this machine, and HF_HUB_OFFLINE forbids to fetch it" in output


def test_gguf_file_of_the_hub_is_chosen_by_quantization(tmp_path: Path, hub: str) -> None:
    cache = tmp_path / "cache"
    folder = folder_of(resolve_with_hub("org/tiny:q4_k_m", cache, hub))
    assert folder.name.startswith("tiny-Q4_K_M-")
    expected = resolve_model(str(tmp_path / "tiny.gguf"), tmp_path / "other", print)
    assert folder_contents(folder) == folder_contents(expected)
    assert find_model("org/tiny:q4_k_m", cache) == folder
    assert find_model("org/tiny", cache) is None
    assert resolve_with_hub("org/tiny:q4_k_m", cache, "http://127.0.0.1:9") == f"folder: {folder}\n"


def test_missing_quantization_lists_the_choices(tmp_path: Path, hub: str) -> None:
    output = resolve_with_hub("org/tiny:Q5_K_M", tmp_path / "cache", hub)
    assert "ModelNotFoundError org/tiny has no file for 'Q5_K_M'; use org/tiny:Q4_K_M, org/tiny:Q8_0\n" in output


def test_unknown_hub_id_is_refused(tmp_path: Path, hub: str) -> None:
    assert "ModelNotFoundError 'org/none' is not a local folder" in resolve_with_hub("org/none", tmp_path, hub)


def test_unreachable_hub_is_a_download_error(tmp_path: Path) -> None:
    output = resolve_with_hub("org/tiny", tmp_path, "http://127.0.0.1:9")
    assert "DownloadError org/tiny could not be fetched from http://127.0.0.1:9" in output
    assert "check the network" in output
