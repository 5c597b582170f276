"""The tokens that an encoder's tokenizer writes around the two texts of a pair."""

from collections.abc import Sequence
from dataclasses import dataclass

import tokenizers

from models.errors import TokenizerError
from models.weights.folder import ModelFolder


@dataclass(frozen=True, slots=True)
class PairFrame:
    """Ids before the first text, between the texts, and behind the second one."""

    before: Sequence[int]
    between: Sequence[int]
    behind: Sequence[int]

    def around(self, first: Sequence[int], second: Sequence[int]) -> list[int]:
        """Return the prompt of a pair, given the ids of both texts."""
        return [*self.before, *first, *self.between, *second, *self.behind]


def read_pair_frame(folder: ModelFolder) -> PairFrame:
    """Find the tokens by encoding a pair of known texts. Raise TokenizerError if tokenizer.json cannot be used."""
    try:
        tokenizer = tokenizers.Tokenizer.from_file(str(folder.path / "tokenizer.json"))
    except Exception as error:  # The library raises bare Exception.
        raise TokenizerError(f"tokenizer.json cannot be used: {error}") from error
    tokenizer.no_truncation()
    tokenizer.no_padding()
    text = tokenizer.encode("x", add_special_tokens=False).ids
    whole = tokenizer.encode("x", "x", add_special_tokens=True).ids
    places = [at for at in range(len(whole)) if whole[at : at + len(text)] == text]
    first, second = places[0], places[-1]
    return PairFrame(whole[:first], whole[first + len(text) : second], whole[second + len(text) :])
