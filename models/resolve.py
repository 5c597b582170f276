"""Resolution of a model's name, as a user gives it, to a model folder."""

import hashlib
import re
from pathlib import Path

from models.errors import DownloadError, ModelNotFoundError
from models.pull import model_folder, pull_default
from models.staging import Progress, exclusive, private_folder, staged
from models.wheel_source import DEFAULT_SOURCE

DEFAULT_MODEL = DEFAULT_SOURCE.name

_HUB_ID = re.compile(r"[\w.-]+/[\w.-]+")
_CONVERSION = "blocks"
"""Name of the form of converted files. A folder in an earlier form is not found."""

_HUB_FILES = ["*.safetensors", "*.json", "*.jinja", "tokenizer.model"]


def resolve_model(name: str, cache_dir: Path, progress: Progress) -> Path:
    """Return the folder of the model `name`, and fetch or convert the model if necessary.

    A model that is not on this machine is fetched into `cache_dir`. A GGUF file is converted there once.

    name: the default model's alias, a folder, a GGUF file, or a hub id such as "org/model".

    Raise ModelNotFoundError if there is no such model, and the errors of `pull` if fetching or converting fails.
    """
    if name.lower() == DEFAULT_MODEL:
        return pull_default(cache_dir, progress)
    local = Path(name).expanduser()
    if local.is_dir():
        if not (local / "config.json").is_file():
            raise ModelNotFoundError(f"{local} is not a model folder: it has no config.json")
        return local
    if local.is_file():
        if local.suffix.lower() != ".gguf":
            raise ModelNotFoundError(f"{local} is not a model: use a folder or a .gguf file")
        return _converted(local.resolve(), cache_dir, progress)
    if _HUB_ID.fullmatch(name) and local.suffix.lower() != ".gguf":
        return _from_hub(name, cache_dir, progress)
    raise ModelNotFoundError(
        f"there is no model {name!r}: use {DEFAULT_MODEL}, a folder, a .gguf file, or a hub id like org/model"
    )


def find_model(name: str, cache_dir: Path) -> Path | None:
    """Find the folder of the model `name` if it is ready to load, without fetching or converting anything.

    Return None for a name that `resolve_model` would have to fetch, convert or reject. Return None for every hub id,
    because only the hub's client can tell whether its cache is complete.
    """
    local = Path(name).expanduser()
    if name.lower() == DEFAULT_MODEL:
        folder = model_folder(DEFAULT_SOURCE, cache_dir)
    elif local.is_file() and local.suffix.lower() == ".gguf":
        folder = _converted_folder(local.resolve(), cache_dir)
    else:
        folder = local
    return folder if (folder / "config.json").is_file() else None


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
            from models.gguf_import.convert import convert_gguf
            from models.proof import prove_conversion

            with staged(folder) as partial:
                convert_gguf(file, partial, progress, keep_blocks=True)
                progress("Checking the conversion")
                prove_conversion(partial, None)
    return folder


def _from_hub(name: str, cache_dir: Path, progress: Progress) -> Path:
    # Only hub ids need the hub's client, which takes a while to import.
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import HfHubHTTPError, LocalEntryNotFoundError, RepositoryNotFoundError

    progress(f"Fetching {name} from the Hugging Face hub")
    try:
        return Path(
            snapshot_download(name, cache_dir=cache_dir / "hub", allow_patterns=_HUB_FILES, ignore_patterns="*/*")
        )
    except RepositoryNotFoundError as error:
        raise ModelNotFoundError(f"{name!r} is not a local folder, and the hub has no such public model") from error
    except (HfHubHTTPError, LocalEntryNotFoundError, OSError) as error:
        reason = str(error).partition("\n")[0]
        raise DownloadError(f"{name} could not be fetched from the hub; check the network. {reason}") from error
