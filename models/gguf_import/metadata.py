"""Access to the key-value metadata of a GGUF file, with errors that name the key."""

from collections.abc import Mapping
from typing import Any

from models.errors import ConversionError


class Metadata:
    """Typed look-ups of metadata.

    A look-up raises ConversionError if the value has the wrong type. A missing key without a default raises it too,
    unless the docstring says otherwise.
    """

    def __init__(self, values: Mapping[str, Any]) -> None:
        self._values = values

    def get(self, key: str, default: Any = None) -> Any:
        """Return the raw value, or `default` if the key is missing. Never raises ConversionError."""
        return self._values.get(key, default)

    def whole(self, key: str, *, default: int | None = None) -> int:
        """Return a positive integer."""
        value = self.get(key, default)
        if not isinstance(value, int) or value < 1:
            raise ConversionError(f"the file needs a positive whole number for {key}, but has {value!r}")
        return value

    def token_id(self, key: str) -> int | None:
        """Return a token id, or None if the key is missing."""
        value = self.get(key)
        if value is not None and not isinstance(value, int):
            raise ConversionError(f"the file needs a token id for {key}, but has {value!r}")
        return value

    def number(self, key: str, *, default: float | None = None) -> float:
        """Return a number as a float."""
        value = self.get(key, default)
        if not isinstance(value, int | float):
            raise ConversionError(f"the file needs a number for {key}, but has {value!r}")
        return float(value)

    def decimal(self, key: str, *, default: float | None = None) -> float:
        """Return a number that was written in decimal. GGUF stores float32, so 1e-5 reads as 9.999999747378752e-06."""
        return float(f"{self.number(key, default=default):.6g}")

    def text(self, key: str) -> str:
        """Return a string."""
        value = self.get(key)
        if not isinstance(value, str):
            raise ConversionError(f"the file needs a string for {key}, but has {value!r}")
        return value

    def items(self, key: str, kind: type) -> list[Any]:
        """Return a list whose items are all of type `kind`."""
        value = self.get(key)
        if not isinstance(value, list) or not all(isinstance(item, kind) for item in value):
            raise ConversionError(f"the file needs a list for {key}")
        return value
