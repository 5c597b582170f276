"""Index of n-grams of a growing text, to find earlier occurrences of its last tokens."""

from array import array
from collections.abc import Iterable
from typing import Final

LONGEST: Final = 4
"""Tokens of the longest n-gram."""
SHORTEST: Final = 2
"""Tokens of the shortest n-gram."""
MAX_PLACES: Final = 1 << 17
"""Largest table of one index: half a megabyte, enough for the n-grams of 40,000 tokens.

In a longer text newer n-grams replace older ones.
"""
_FACTOR: Final = 1_000_003


class NgramIndex:
    """Hash table of the latest position after each n-gram of `SHORTEST` to `LONGEST` tokens.

    A newer n-gram replaces any other with the same hash. So a position may be missing, and a position that is found is
    verified against the text.
    """

    def __init__(self, room: int) -> None:
        """Make an index for a text of about `room` tokens."""
        places = 4 * max(1, room)
        self.tokens: list[int] = []
        self._mask = min(1 << (places - 1).bit_length(), MAX_PLACES) - 1
        self._table = array("i", bytes(4 * (self._mask + 1)))

    def extend(self, token_ids: Iterable[int]) -> None:
        """Append tokens to the text, in constant time per token."""
        tokens, table, mask = self.tokens, self._table, self._mask
        for token in token_ids:
            place = len(tokens)
            # A prompt begins with special tokens, so the n-grams of its first few tokens are never repeated.
            if place >= LONGEST:
                # `token` follows the n-grams that end here.
                two, three, four = _hashes(*tokens[-LONGEST:])
                table[two & mask] = table[three & mask] = table[four & mask] = place
            tokens.append(token)

    def find(self) -> int:
        """Return the position after an earlier occurrence of the text's last tokens; 0 if there is none.

        The longest n-gram that occurs earlier is used, and of its occurrences the latest.
        """
        tokens = self.tokens
        if len(tokens) <= LONGEST:
            return 0
        hashes = _hashes(*tokens[-LONGEST:])
        for length in range(LONGEST, SHORTEST - 1, -1):
            place = self._table[hashes[length - SHORTEST] & self._mask]
            if place >= length and tokens[place - length : place] == tokens[-length:]:
                return place
        return 0


def _hashes(a: int, b: int, c: int, d: int) -> tuple[int, int, int]:
    """Return the hashes of the last two, the last three and all four tokens."""
    two = c * _FACTOR + d
    three = (b * _FACTOR + two) * _FACTOR
    return two, three, (a * _FACTOR + three) * _FACTOR
