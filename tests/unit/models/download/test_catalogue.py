"""The catalogue's names, and the model that suits a machine."""

import pytest

from models.download.catalogue import CATALOGUE, find_entry, suitable_model
from models.download.hub.repository import HubName

GB = 1_000_000_000


def test_every_entry_has_a_short_name_and_a_hub_id() -> None:
    assert len({model.name for model in CATALOGUE}) == len(CATALOGUE)
    for model in CATALOGUE:
        assert HubName.parse(model.hub_id) == HubName(model.hub_id)
        assert HubName.parse(model.name) is None
        assert find_entry(model.name.upper()) == model


def test_size_follows_from_the_name_of_the_repository() -> None:
    sizes = {model.name: model.nbytes for model in CATALOGUE}
    assert sizes["qwen3-0.6b"] == 1_200_000_000
    assert sizes["qwen3-4b"] == 8 * GB
    assert sizes["coder-1.5b"] == 3 * GB


@pytest.mark.parametrize(
    ("memory", "cores", "name"),
    [
        (1 * GB, 64, None),
        (4 * GB, 2, "qwen3-0.6b"),
        (64 * GB, 2, "qwen3-0.6b"),
        (16 * GB, 4, "qwen3-1.7b"),
        (16 * GB, 8, "qwen3-4b"),
        (64 * GB, 16, "qwen3-8b"),
        (20 * GB, None, "qwen3-4b"),
    ],
)
def test_suitable_model_fits_memory_and_cores(memory: int, cores: int | None, name: str | None) -> None:
    found = suitable_model(memory, cores)
    assert (found.name if found else None) == name
