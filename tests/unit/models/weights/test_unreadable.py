"""Files of a model folder that cannot be read: the error names the true reason, and what to do."""

import json
import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file

from models.download.resolve import find_model, resolve_model
from models.errors import ModelError, ModelNotFoundError
from models.tokenizers.tokenizer import Tokenizer
from models.weights.block_types import stored_types
from models.weights.fingerprint import model_fingerprint
from models.weights.folder import ModelFolder
from models.weights.parameter_count import count_parameters
from models.weights.weights import load_weights
from tests.tiny_tokenizer import byte_tokenizer

POINTER = "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 9\n"


def load(folder: Path) -> object:
    return load_weights(ModelFolder(folder).weight_files(), {"a": torch.zeros(1)}, lambda _: False)


READERS: dict[str, list[Callable[[Path], object]]] = {
    "config.json": [lambda folder: ModelFolder(folder).config(), model_fingerprint],
    "model.safetensors": [
        load,
        model_fingerprint,
        lambda folder: stored_types(ModelFolder(folder).weight_files()),
        lambda folder: count_parameters(ModelFolder(folder).weight_files()),
    ],
    "model.safetensors.index.json": [load],
    "tokenizer.json": [Tokenizer.load],
}
EACH = [(file, read) for file, readers in READERS.items() for read in readers]


@contextmanager
def as_other_user() -> Iterator[None]:
    """Give up the rights of root."""
    uid = os.geteuid()
    if uid == 0:
        os.seteuid(10001)
    try:
        yield
    finally:
        os.seteuid(uid)


@pytest.fixture
def folder() -> Iterator[Path]:
    """Write a model folder in a place that every user may enter."""
    with tempfile.TemporaryDirectory() as temporary:
        Path(temporary).chmod(0o755)
        yield write_folder(Path(temporary) / "model")


def write_folder(place: Path) -> Path:
    place.mkdir()
    save_file({"a": torch.zeros(1)}, place / "model.safetensors")
    index = {"weight_map": {"a": "model.safetensors"}}
    (place / "model.safetensors.index.json").write_text(json.dumps(index))
    (place / "config.json").write_text("{}")
    byte_tokenizer().save(str(place / "tokenizer.json"))
    for each in (place, *place.iterdir()):
        each.chmod(0o755)
    return place


@pytest.mark.parametrize(("file", "read"), EACH)
def test_missing_right_is_named(folder: Path, file: str, read: Callable[[Path], object]) -> None:
    (folder / file).chmod(0)
    with as_other_user(), pytest.raises(ModelError, match=rf"{file} may not be read by this user \(uid \d+\)"):
        read(folder)


@pytest.mark.parametrize(("file", "read"), EACH)
def test_pointer_of_git_lfs_is_named(folder: Path, file: str, read: Callable[[Path], object]) -> None:
    (folder / file).write_text(POINTER)
    with pytest.raises(ModelError, match=rf"{file} is a pointer of Git LFS.*Run `git lfs pull`"):
        read(folder)


@pytest.mark.parametrize(("file", "read"), EACH)
def test_damaged_file_may_be_truncated(folder: Path, file: str, read: Callable[[Path], object]) -> None:
    (folder / file).write_text("{")
    with pytest.raises(ModelError, match=rf"{file} cannot be read and may be truncated"):
        read(folder)


@pytest.mark.parametrize(("file", "read"), [each for each in EACH if "index" not in each[0]])
def test_folder_in_place_of_a_file_is_named(folder: Path, file: str, read: Callable[[Path], object]) -> None:
    (folder / file).unlink()
    (folder / file).mkdir()
    with pytest.raises(ModelError, match=rf"{file} cannot be read: Is a directory|has no tokenizer"):
        read(folder)


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-32"])
def test_files_with_a_byte_order_mark_are_read(folder: Path, encoding: str) -> None:
    for file in folder.glob("*.json"):
        file.write_text(file.read_text(encoding="utf-8"), encoding=encoding)
    (folder / "config.json").write_text('{"name": "größe"}', encoding=encoding)
    assert ModelFolder(folder).config() == {"name": "größe"}
    assert Tokenizer.load(folder).encode("a", special=False)
    load(folder)


def test_path_that_this_user_may_not_enter_is_named(folder: Path) -> None:
    folder.chmod(0)
    with as_other_user():
        assert find_model(str(folder), folder / "cache") is None
        with pytest.raises(ModelNotFoundError, match="model may not be read by this user"):
            resolve_model(str(folder), folder / "cache", print)
