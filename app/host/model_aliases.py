"""Further names by which clients may request the model."""

import re
from collections.abc import Mapping
from typing import Final

ANY: Final = "*"


class ModelAliases:
    """Names that stand for models. A `*` in a name stands for any characters."""

    def __init__(self, models: Mapping[str, str] | None = None) -> None:
        """Create the table. `models` maps each name to the model that the name stands for."""
        self._models = dict(models or {})
        self._patterns = [(_pattern(name), model) for name, model in self._models.items() if ANY in name]

    def model(self, name: str) -> str:
        """Return the model that `name` stands for: `name` itself unless it is an alias. Exact names come first."""
        if name in self._models:
            return self._models[name]
        return next((model for pattern, model in self._patterns if pattern.fullmatch(name)), name)

    def names_of(self, model: str) -> list[str]:
        """List the exact names that stand for `model`."""
        return [name for name, each in self._models.items() if each == model and ANY not in name]


def _pattern(name: str) -> re.Pattern[str]:
    return re.compile(".*".join(map(re.escape, re.split(r"\*+", name))), re.DOTALL)
