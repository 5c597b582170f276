"""A block on its way between CPU memory and a tier below."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Block:
    """A block of KV.

    payload: memory to send from or receive into, contiguous, format 'B'.
    """

    key: bytes
    payload: memoryview
