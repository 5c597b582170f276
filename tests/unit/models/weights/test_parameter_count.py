import json
from pathlib import Path

import pytest

from models.errors import WeightsError
from models.weights.parameter_count import count_parameters


def written(file: Path, *shapes: list[int]) -> Path:
    """Write a file of bfloat16 tensors of zeros."""
    header, offset = {}, 0
    for index, shape in enumerate(shapes):
        end = offset + 2 * shape[0] * shape[1]
        header[f"t{index}"] = {"dtype": "BF16", "shape": shape, "data_offsets": [offset, end]}
        offset = end
    text = json.dumps(header).encode()
    file.write_bytes(len(text).to_bytes(8, "little") + text + bytes(offset))
    return file


def test_tensors_of_all_files_count(tmp_path: Path) -> None:
    files = [written(tmp_path / "a.safetensors", [2, 5], [3, 1]), written(tmp_path / "b.safetensors", [4, 4])]
    assert count_parameters(files) == 29
    assert count_parameters([]) == 0


def test_truncated_file_is_named(tmp_path: Path) -> None:
    file = written(tmp_path / "a.safetensors", [2, 5])
    file.write_bytes(file.read_bytes()[:-1])
    with pytest.raises(WeightsError, match=r"a\.safetensors"):
        count_parameters([file])
