"""Choice of the files of a repository that make a model."""

import re
from collections import Counter
from pathlib import Path
from typing import Final

from models.chat.template_files import TOOL_USE
from models.download.hub.repository import HubName, RepoFile, Repository
from models.errors import DownloadError, ModelNotFoundError
from models.weights.weight_names import INDEX, weight_names

OF_MODULES: Final = ("1_Pooling/config.json", "1_LogitScore/config.json")
"""Files of sentence-transformers that say how embeddings are pooled, and which logits are a score."""

_QUANTIZATION: Final = re.compile(
    r"(?:^|[-._])(?P<label>(?:UD-)?(?:I?Q\d\w*|TQ\d_\d|MXFP4\w*|NVFP4\w*|BF16|F16|F32|FP16|FP32))$", re.IGNORECASE
)
_PART: Final = re.compile(r"-\d{5}-of-\d{5}$")
_NO_MODEL: Final = re.compile(r"(^|[-._/])(mmproj|imatrix)[-._]", re.IGNORECASE)


def description_files(repository: Repository) -> list[RepoFile]:
    """List the small files of a model folder, config.json first. Raise ModelNotFoundError without config.json."""
    files = [file for file in repository.files if _is_description(file.path)]
    if not any(file.path == "config.json" for file in files):
        raise ModelNotFoundError(_no_folder(repository, "no config.json"))
    return sorted(files, key=lambda file: (file.path != "config.json", file.path))


def weight_files(repository: Repository, folder: Path) -> list[RepoFile]:
    """List the safetensors files of the model, those that `weight_names` chooses.

    folder: contains the repository's description files.

    Raise ModelNotFoundError if there is none, DownloadError if one is missing, WeightsError for an unusable index.
    """
    files = {file.path: file for file in repository.files}
    names = weight_names(files, folder / INDEX)
    if not names:
        raise ModelNotFoundError(_no_folder(repository, "no .safetensors file"))
    if missing := [name for name in names if name not in files]:
        raise DownloadError(f"{repository.name} is incomplete at the hub: it has no {missing[0]}")
    return [files[name] for name in names]


def gguf_file(repository: Repository, choice: str) -> RepoFile:
    """Find the GGUF file by its quantization or its path. Raise ModelNotFoundError, which lists the choices."""
    files = gguf_files(repository)
    if not files:
        raise ModelNotFoundError(f"{repository.name} has no .gguf file: use {repository.name} without :{choice}")
    wanted = choice.lower()
    exact = [file for file in files if file.path.lower() == wanted]
    found = exact or [file for file in files if wanted in (quantization(file.path).lower(), _last(file.path).lower())]
    if len(found) == 1:
        return _whole(found[0])
    if found and all(_PART.search(_stem(file.path)) for file in found):
        return _whole(found[0])
    problem = f"has several files for {choice!r}" if found else f"has no file for {choice!r}"
    raise ModelNotFoundError(f"{repository.name} {problem}; use {choices(repository, found or files)}")


def gguf_files(repository: Repository) -> list[RepoFile]:
    """List the GGUF files that hold a model, sorted by path."""
    files = (file for file in repository.files if file.path.lower().endswith(".gguf"))
    return sorted((file for file in files if not _NO_MODEL.search(file.path)), key=lambda file: file.path)


def choices(repository: Repository, files: list[RepoFile]) -> str:
    """Return the names by which `files` can be chosen, as a list for an error."""
    labels = [quantization(file.path) for file in files]
    times = Counter(labels)
    unique = [label if label and times[label] == 1 else file.path for file, label in zip(files, labels, strict=True)]
    return ", ".join(str(HubName(repository.name, choice)) for choice in unique)


def quantization(path: str) -> str:
    """Return the quantization that ends the name of a GGUF file; empty if there is none."""
    found = _QUANTIZATION.search(_PART.sub("", _stem(path)))
    return found["label"] if found else ""


def _whole(file: RepoFile) -> RepoFile:
    if _PART.search(_stem(file.path)):
        raise ModelNotFoundError(
            f"{file.path} is one part of a split model, which is not supported: choose another quantization, or join "
            "the parts with llama-gguf-split --merge and use the file"
        )
    return file


def _no_folder(repository: Repository, problem: str) -> str:
    files = gguf_files(repository)
    if files:
        return f"{repository.name} has {problem}; for its GGUF files use {choices(repository, files)}"
    return f"{repository.name} has {problem} at the hub: choose a repository with safetensors or GGUF files"


def _is_description(path: str) -> bool:
    if "/" in path:
        return path in (*OF_MODULES, TOOL_USE)
    return path.endswith((".json", ".jinja")) or path == "tokenizer.model"


def _last(path: str) -> str:
    return path.rpartition("/")[2]


def _stem(path: str) -> str:
    return _last(path).rpartition(".")[0]
