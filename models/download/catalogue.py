"""Short names of good small models at the hub.

Sizes and licences are not written here: the hub knows them, and they are shown before a download.
"""

import re
from dataclasses import dataclass
from typing import Final

_COUNT: Final = re.compile(r"(?<![\d.])(\d+(?:\.\d+)?)([BM])(?![a-z])", re.IGNORECASE)
_NBYTES_PER_WEIGHT: Final = 2
_NBYTES_PER_CORE: Final = 1_000_000_000


@dataclass(frozen=True, slots=True)
class CatalogueModel:
    """One model of the catalogue.

    name: the name for `ebb pull` and `--model`.
    hub_id: the repository at the hub, whose name states the number of parameters.
    good_for: the model's use, in a few words.
    is_general: the model suits a first chat.
    """

    name: str
    hub_id: str
    good_for: str
    is_general: bool = True

    @property
    def nbytes(self) -> int:
        """Approximate size of the weights in bfloat16, by the number of parameters in the repository's name."""
        found = _COUNT.search(self.hub_id)
        assert found is not None, f"{self.hub_id} states no number of parameters"
        unit = 1e9 if found[2] in "Bb" else 1e6
        return round(float(found[1]) * unit) * _NBYTES_PER_WEIGHT


CATALOGUE: Final = (
    CatalogueModel("qwen3-0.6b", "Qwen/Qwen3-0.6B", "chat in many languages on small machines, with thinking"),
    CatalogueModel("qwen3-1.7b", "Qwen/Qwen3-1.7B", "chat in many languages, with thinking"),
    CatalogueModel("qwen3-4b", "Qwen/Qwen3-4B-Instruct-2507", "chat and tools, with answers of much larger models"),
    CatalogueModel("qwen3-8b", "Qwen/Qwen3-8B", "the best answers of this list, with thinking"),
    CatalogueModel("smollm3-3b", "HuggingFaceTB/SmolLM3-3B", "chat in European languages, with thinking"),
    CatalogueModel(
        "granite-3.3-2b", "ibm-granite/granite-3.3-2b-instruct", "questions about given texts", is_general=False
    ),
    CatalogueModel(
        "granite-3.3-8b", "ibm-granite/granite-3.3-8b-instruct", "questions about given texts", is_general=False
    ),
    CatalogueModel("coder-1.5b", "Qwen/Qwen2.5-Coder-1.5B-Instruct", "code on small machines", is_general=False),
    CatalogueModel("coder-7b", "Qwen/Qwen2.5-Coder-7B-Instruct", "code", is_general=False),
)
"""Models of architectures that the shared decoder computes, apart from the default model."""


def find_entry(name: str) -> CatalogueModel | None:
    """Find the model with the short name `name`, in any case."""
    return next((model for model in CATALOGUE if model.name == name.lower()), None)


def suitable_model(memory: int, cores: int | None) -> CatalogueModel | None:
    """Return the largest general model that suits `memory` bytes and `cores` of a CPU; None if all are too large.

    The weights take at most half of the memory, since KV needs room too. They take at most 1 GB per core, since every
    token of an answer reads all of them.

    cores: None for a device with its own fast memory.
    """
    limit = memory // 2 if cores is None else min(memory // 2, cores * _NBYTES_PER_CORE)
    fitting = [model for model in CATALOGUE if model.is_general and model.nbytes <= limit]
    return max(fitting, key=lambda model: model.nbytes, default=None)
