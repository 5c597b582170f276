"""Fingerprint of a model's weights, so that KV of one model is never mistaken for that of another."""

import hashlib
import json
import os
from pathlib import Path
from typing import BinaryIO, Final

from models.errors import WeightsError
from models.weights.block_types import tensor_types
from models.weights.folder import ModelFolder
from models.weights.unreadable import why_unreadable

SAMPLE = 4096

_READING: Final = b"2"
"""Version of the way in which config.json is read. KV that was computed under another one is that of another model."""


def model_fingerprint(path: Path) -> str:
    """Compute the fingerprint of the model folder `path`.

    The fingerprint is a SHA-256 in hex over config.json, the version of its reading and, per tensor, name, dtype or
    type of its blocks, shape, and first and last 4 KiB.
    Only a few MiB of a 16 GB model are read, so a change in the middle of a tensor is not detected.

    Raise ModelNotFoundError or WeightsError if the folder cannot be read.
    """
    folder = ModelFolder(path)
    digest = hashlib.sha256(_READING + json.dumps(folder.config(), sort_keys=True).encode())
    for file in folder.weight_files():
        try:
            with file.open("rb") as source:
                _add_file(digest, source)
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise WeightsError(why_unreadable(file, error)) from error
    return digest.hexdigest()


def _add_file(digest: "hashlib._Hash", source: BinaryIO) -> None:
    # Format: an 8-byte little-endian length, a JSON header with data_offsets relative to its end, then the data.
    length = int.from_bytes(_exactly(source, 0, 8), "little")
    size = os.fstat(source.fileno()).st_size
    if length > size - 8:
        raise ValueError("the header is longer than the file")
    tensors = json.loads(_exactly(source, 8, length))
    types = tensor_types(tensors.get("__metadata__"))
    for name in sorted(tensors.keys() - {"__metadata__"}):
        entry = tensors[name]
        start, end = entry["data_offsets"]
        digest.update(json.dumps([name, types.get(name, entry["dtype"]), entry["shape"]]).encode())
        take = min(SAMPLE, end - start)
        digest.update(_exactly(source, 8 + length + start, take))
        digest.update(_exactly(source, 8 + length + end - take, take))


def _exactly(source: BinaryIO, offset: int, count: int) -> bytes:
    source.seek(offset)
    data = source.read(count)
    if len(data) != count:
        raise ValueError(f"the file ends before byte {offset + count}")
    return data
