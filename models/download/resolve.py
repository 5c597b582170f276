"""Resolution of a model's name, as a user gives it, to a model folder."""

import hashlib
import os
from pathlib import Path
from typing import TYPE_CHECKING

from models.download.catalogue import find_entry
from models.download.hub.folder import HubFolder
from models.download.hub.repository import HubName
from models.download.pull import model_folder, pull
from models.download.staging import Progress, exclusive, private_folder, staged
from models.download.wheel_source import DEFAULT_SOURCE, find_wheel
from models.errors import ModelNotFoundError
from models.weights.unreadable import why_unreadable

if TYPE_CHECKING:
    from models.download.hub.client import Hub
    from models.download.hub_model import HubPlan

DEFAULT_MODEL = DEFAULT_SOURCE.name

_CONVERSION = "vocabularies"
"""Name of the form of converted files. A folder in an earlier form is not found."""


def resolve_model(name: str, cache_dir: Path, progress: Progress, *, device: str = "cpu") -> Path:
    """Return the folder of the model `name`, and fetch or convert the model if necessary.

    A model that is not on this machine is fetched into `cache_dir`. One that is there is used without asking the hub
    for a newer version. A GGUF file is converted there once.

    name: a model in a wheel, such as the default one, a folder, a GGUF file, a name of the catalogue, or a hub id such
        as "org/model" or "org/model:Q4_K_M".
    device: kind of the device that will compute the model. One that it cannot compute is refused before the download.

    Raise ModelNotFoundError if there is no such model, and the errors of `pull` and `plan_download` if fetching or
    converting fails.
    """
    if (wheel := find_wheel(name)) is not None:
        return pull(wheel, cache_dir, progress)
    check_name(name)
    local = Path(name).expanduser()
    if local.is_dir():
        return local
    if local.is_file():
        return _converted(local.resolve(), cache_dir, progress)
    hub_name = at_hub(name)
    assert hub_name is not None
    ready = HubFolder.of(hub_name, cache_dir).ready(hub_name.choice)
    if ready is not None:
        return prepared(ready, cache_dir, progress)
    # Only fetching needs the hub's client, which takes a while to import.
    from models.download.hub.client import Hub
    from models.download.hub_model import plan_download

    hub = Hub()
    return fetched(plan_download(hub_name, cache_dir, hub, progress, device=device), cache_dir, hub, progress)


def check_name(name: str) -> None:
    """Raise ModelNotFoundError if no model can have this name: it is neither a model on this machine nor one of a hub.

    A path at which this user may not look is refused, too. Other functions treat it as missing.
    """
    if find_wheel(name) is not None:
        return
    local = Path(name).expanduser()
    try:
        is_folder = (local / "config.json").is_file()
    except OSError as error:
        raise ModelNotFoundError(why_unreadable(local, error)) from error
    if local.is_dir() and not is_folder:
        raise ModelNotFoundError(f"{local} is not a model folder: it has no config.json")
    if local.is_file() and local.suffix.lower() != ".gguf":
        raise ModelNotFoundError(f"{local} is not a model: use a folder or a .gguf file")
    if not local.exists() and at_hub(name) is None:
        raise ModelNotFoundError(
            f"there is no model {name!r}: use {DEFAULT_MODEL}, a folder, a .gguf file, or a hub id like org/model; "
            "`ebb pull` lists short names"
        )


def fetched(plan: "HubPlan", cache_dir: Path, hub: "Hub", progress: Progress) -> Path:
    """Download what `plan` lacks, convert it if necessary, and return the model folder. Raise as `resolve_model`."""
    from models.download.hub_model import download

    return prepared(download(plan, cache_dir, hub, progress), cache_dir, progress)


def prepared(path: Path, cache_dir: Path, progress: Progress) -> Path:
    """Return `path` if it is a model folder; convert it if it is a GGUF file. Raise ConversionError."""
    return path if path.is_dir() else _converted(path, cache_dir, progress)


def local_gguf(name: str) -> Path | None:
    """Return the path that the model `name` is if it is a GGUF file on this machine; None for all other names."""
    local = Path(name).expanduser()
    return local.resolve() if os.path.isfile(local) and local.suffix.lower() == ".gguf" else None


def find_model(name: str, cache_dir: Path) -> Path | None:
    """Find the folder of the model `name` if it is ready to load, without fetching or converting anything.

    Return None for a name that `resolve_model` would have to fetch, convert or reject.
    """
    local = Path(name).expanduser()
    if (wheel := find_wheel(name)) is not None:
        folder = model_folder(wheel, cache_dir)
    elif (file := local_gguf(name)) is not None:
        folder = _converted_folder(file, cache_dir)
    elif (hub_name := at_hub(name)) is None:
        folder = local
    else:
        ready = HubFolder.of(hub_name, cache_dir).ready(hub_name.choice)
        if ready is None:
            return None
        folder = ready if ready.is_dir() else _converted_folder(ready, cache_dir)
    return folder if os.path.isfile(folder / "config.json") else None


def at_hub(name: str) -> HubName | None:
    """Return the hub id that `name` is or stands for; None for models in wheels, local paths and other forms."""
    if find_wheel(name) is not None or os.path.exists(Path(name).expanduser()):
        return None
    entry = find_entry(name)
    return HubName.parse(entry.hub_id if entry is not None else name)


def _converted_folder(file: Path, cache_dir: Path) -> Path:
    status = file.stat()
    # The contents are not hashed: 16 GB at each start cost more than a needless second conversion after a touch.
    facts = f"{file}\0{status.st_size}\0{status.st_mtime_ns}\0{_CONVERSION}"
    identity = hashlib.sha256(facts.encode()).hexdigest()[:16]
    return cache_dir / "models" / f"{file.stem}-{identity}"


def _converted(file: Path, cache_dir: Path, progress: Progress) -> Path:
    private_folder(cache_dir)
    folder = _converted_folder(file, cache_dir)
    with exclusive(folder, progress):
        if not folder.is_dir():
            # Imported here because the conversion needs torch, and finding a finished model does not.
            from models.download.conversion_check import check_conversion
            from models.gguf_import.convert import convert_gguf

            with staged(folder) as partial:
                convert_gguf(file, partial, progress, keep_blocks=True)
                progress("Checking the conversion")
                check_conversion(partial, None)
    return folder
