"""Identity of an adapter, as every part above the model knows it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

FIRST_VIRTUAL: Final = 1 << 30
"""Id of the first virtual token of a prompt adapter. No vocabulary has it, and the keys of blocks have room for it."""


@dataclass(frozen=True, slots=True)
class Adapter:
    """An adapter that is loaded.

    name: the name by which clients request it.
    digest: SHA-256 in hex over everything that its numbers depend on, whatever its name or folder.
    changes_kv: whether K or V of a token may differ from the base model's.
    invocation: token ids that activate the adapter (aLoRA): it changes the tokens from the beginning of their last
        occurrence in the prompt on. Empty for an adapter that changes all tokens.
    num_virtual: tokens of a prompt adapter, which are computed before each prompt and which no tokenizer has.
    """

    name: str
    digest: str
    changes_kv: bool
    invocation: tuple[int, ...] = ()
    num_virtual: int = 0

    def lead(self, prompt: Sequence[int]) -> tuple[int, ...]:
        """Return the prompt that is computed for the `prompt` of a client: the virtual tokens come before it."""
        return (*range(FIRST_VIRTUAL, FIRST_VIRTUAL + self.num_virtual), *prompt)

    def first(self, prompt: Sequence[int]) -> int | None:
        """Return the position of the first token of a prompt that the adapter changes; None if it changes none."""
        if not self.invocation:
            return 0
        return next(self.occurrences(prompt), None)

    def occurrences(self, token_ids: Sequence[int]) -> Iterator[int]:
        """Yield the positions of the invocation, the last one first."""
        ids, size = tuple(token_ids), len(self.invocation)
        at = len(ids) - size
        while at >= 0:
            if ids[at] == self.invocation[0] and ids[at : at + size] == self.invocation:
                yield at
            at -= 1
