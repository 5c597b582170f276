"""Mutations of a value in Redis, as corruption or tampering may cause them."""

import random
from collections.abc import Callable

from cache_tiers.lower.sealed_value import HEADER_BYTES

Mutation = Callable[[random.Random, bytes], bytes]


def flip_bits(source: random.Random, value: bytes) -> bytes:
    changed = bytearray(value)
    for bit in source.sample(range(8 * len(value)), source.choice((1, 1, 2, 8))):
        changed[bit // 8] ^= 1 << bit % 8
    return bytes(changed)


def flip_in_header(source: random.Random, value: bytes) -> bytes:
    return flip_bits(source, value[:HEADER_BYTES]) + value[HEADER_BYTES:]


def cut(source: random.Random, value: bytes) -> bytes:
    return value[: source.randrange(len(value))]


def lengthen(source: random.Random, value: bytes) -> bytes:
    return value + source.randbytes(source.randint(1, 300))


def overwrite(source: random.Random, value: bytes) -> bytes:
    at = source.randrange(len(value))
    piece = source.randbytes(source.randint(1, 64))
    return (value[:at] + piece + value[at + len(piece) :])[: len(value)]


def shift(source: random.Random, value: bytes) -> bytes:
    by = source.randrange(1, len(value))
    return value[by:] + value[:by]


def swap(source: random.Random, value: bytes) -> bytes:
    one, other = sorted(source.sample(range(0, len(value) - 16, 16), 2))
    pieces = (
        value[:one],
        value[other : other + 16],
        value[one + 16 : other],
        value[one : one + 16],
        value[other + 16 :],
    )
    return b"".join(pieces)


def noise(source: random.Random, value: bytes) -> bytes:
    return source.randbytes(len(value))


MUTATIONS: tuple[Mutation, ...] = (*(flip_bits, flip_in_header, cut, lengthen, overwrite, shift, swap, noise),)
