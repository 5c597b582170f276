"""Further names by which clients may request the model."""

import re
from collections.abc import Mapping
from typing import Final

from app.domain.wildcards import wildcard_source

ANY: Final = "*"


class ModelAliases:
    """Names that stand for models. A `*` in a name stands for any characters."""

    def __init__(self, models: Mapping[str, str] | None = None) -> None:
        """Create the table. `models` maps each name to the model that the name stands for."""
        self._models = dict(models or {})
        self._patterns = [
            (re.compile(wildcard_source(name), re.DOTALL), model) for name, model in self._models.items() if ANY in name
        ]

    def model(self, name: str) -> str:
        """Return the model that `name` stands for: `name` itself if it is no alias.

        Exact names come first, then names with `*` in the order in which they are listed.
        """
        if name in self._models:
            return self._models[name]
        return next((model for pattern, model in self._patterns if pattern.fullmatch(name)), name)

    def names_of(self, model: str) -> list[str]:
        """List the exact names that stand for `model`."""
        return [name for name, each in self._models.items() if each == model and ANY not in name]
