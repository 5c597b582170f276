"""Where the last tokens of a growing text stood before."""

from array import array
from collections.abc import Iterable
from typing import Final

LONGEST: Final = 4
SHORTEST: Final = 2
MOST_PLACES: Final = 1 << 17
"""Of one index, half a megabyte: room for the n-grams of 40,000 tokens. Beyond that the latest displace others."""
_FACTOR: Final = 1_000_003


class NgramIndex:
    """The latest place of each n-gram of LONGEST to SHORTEST tokens, in a table in which a newer one displaces whatever
    has the same hash. So a place may be lost, and one that is found is compared with the text."""

    def __init__(self, room: int) -> None:
        """room: tokens that the text will have, about."""
        places = 4 * max(1, room)
        self.tokens: list[int] = []
        self._mask = min(1 << (places - 1).bit_length(), MOST_PLACES) - 1
        self._table = array("i", bytes(4 * (self._mask + 1)))

    def extend(self, token_ids: Iterable[int]) -> None:
        """The text goes on. A microsecond for each token."""
        tokens, table, mask = self.tokens, self._table, self._mask
        for token in token_ids:
            place = len(tokens)
            # A prompt begins with marks, so its first few tokens are nothing that anybody repeats.
            if place >= LONGEST:
                # What ends here is followed by `token`.
                two, three, four = _hashes(*tokens[-LONGEST:])
                table[two & mask] = table[three & mask] = table[four & mask] = place
            tokens.append(token)

    def find(self) -> int:
        """The place behind an earlier copy of the last tokens: of the longest n-gram that has one, the latest. 0: none
        has."""
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
    """Of the last two, three and four of them."""
    two = c * _FACTOR + d
    three = (b * _FACTOR + two) * _FACTOR
    return two, three, (a * _FACTOR + three) * _FACTOR
