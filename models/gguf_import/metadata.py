"""The key-value part of a GGUF file, with errors that name the key."""

from typing import Any

import gguf

from models.errors import ConversionError


class Metadata:
    """Typed look-ups; each raises ConversionError when the key is missing without a default, or of another type."""

    def __init__(self, reader: gguf.GGUFReader) -> None:
        self._fields = reader.fields

    def get(self, key: str, default: Any = None) -> Any:
        """The value as the reader gives it, or `default`."""
        field = self._fields.get(key)
        return default if field is None else field.contents()

    def whole(self, key: str, *, default: int | None = None) -> int:
        """A positive whole number."""
        value = self.get(key, default)
        if not isinstance(value, int) or value < 1:
            raise ConversionError(f"the file needs a positive whole number for {key}, but has {value!r}")
        return value

    def token_id(self, key: str) -> int | None:
        """A token id, or None where the file has none."""
        value = self.get(key)
        if value is not None and not isinstance(value, int):
            raise ConversionError(f"the file needs a token id for {key}, but has {value!r}")
        return value

    def number(self, key: str, *, default: float | None = None) -> float:
        """A number."""
        value = self.get(key, default)
        if not isinstance(value, int | float):
            raise ConversionError(f"the file needs a number for {key}, but has {value!r}")
        return float(value)

    def text(self, key: str) -> str:
        """A text."""
        value = self.get(key)
        if not isinstance(value, str):
            raise ConversionError(f"the file needs a text for {key}, but has {value!r}")
        return value

    def items(self, key: str, kind: type) -> list[Any]:
        """A list whose items are all of `kind`."""
        value = self.get(key)
        if not isinstance(value, list) or not all(isinstance(item, kind) for item in value):
            raise ConversionError(f"the file needs a list for {key}")
        return value
