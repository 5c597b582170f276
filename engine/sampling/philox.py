"""Philox4x32-10: a generator that is a pure function of a key and a counter, so a run can go on at any token.

Salmon, Moraes, Dror, Shaw: "Parallel random numbers: as easy as 1, 2, 3", SC 2011.
"""

from typing import Final

_MASK: Final = 0xFFFFFFFF
_MULTIPLIERS: Final = (0xD2511F53, 0xCD9E8D57)
_WEYL: Final = (0x9E3779B9, 0xBB67AE85)
_ROUNDS: Final = 10


def philox4x32(counter: tuple[int, int, int, int], key: tuple[int, int]) -> tuple[int, int, int, int]:
    """Four 32-bit words from a 128-bit counter and a 64-bit key, both given as 32-bit words, lowest first."""
    c0, c1, c2, c3 = counter
    k0, k1 = key
    for _ in range(_ROUNDS):
        first = _MULTIPLIERS[0] * c0
        second = _MULTIPLIERS[1] * c2
        c0, c1, c2, c3 = (second >> 32) ^ c1 ^ k0, second & _MASK, (first >> 32) ^ c3 ^ k1, first & _MASK
        k0 = (k0 + _WEYL[0]) & _MASK
        k1 = (k1 + _WEYL[1]) & _MASK
    return c0, c1, c2, c3


def uniform(seed: int, choice: int, position: int) -> float:
    """A double in [0, 1) with 53 random bits, for the token at `position` of a request's choice number `choice`.

    seed: its low 64 bits count; position and choice: their low 32 bits.
    """
    words = philox4x32((position & _MASK, choice & _MASK, 0, 0), (seed & _MASK, (seed >> 32) & _MASK))
    return ((words[0] << 21) | (words[1] >> 11)) * 2.0**-53
