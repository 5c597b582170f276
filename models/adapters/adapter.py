"""Identity of an adapter, as every part above the model knows it."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Adapter:
    """An adapter that is loaded.

    name: the name by which clients request it.
    digest: SHA-256 in hex over everything that its numbers depend on, whatever its name or folder.
    changes_kv: whether K or V of a token may differ from the base model's.
    """

    name: str
    digest: str
    changes_kv: bool

    @property
    def kv_digest(self) -> str:
        """Digest that block keys need: empty if the adapter leaves K and V alone, so that it shares the base's."""
        return self.digest if self.changes_kv else ""
