"""A minimal protobuf reader for SentencePiece models, which reads only as much as Ebb has to change.

Source of the format: sentencepiece_model.proto of github.com/google/sentencepiece, and "Encoding" on protobuf.dev. The
generated classes in the sentencepiece package need a newer protobuf than Ebb's other dependencies allow.
"""

from collections.abc import Iterator, Set

PIECE_FIELD, NAME_FIELD, TYPE_FIELD = 1, 1, 3
TRAINER_FIELD, MODEL_TYPE_FIELD, BPE = 2, 3, 2
NORMALIZER_FIELD, CHARACTER_MAP_FIELD = 3, 2
UNKNOWN, CONTROL, UNUSED = 2, 3, 5
"""Types of pieces. An unused piece keeps its id, and encoding a text never produces it."""

_VARINT, _BYTES = 0, 2
_FIXED_SIZES = {1: 8, 5: 4}
"""Size in bytes of the wire types with a fixed size."""


def without_pieces(model: bytes, names: Set[str]) -> bytes:
    """Return the model with the pieces `names` marked as unused.

    Raise ValueError if `model` is not a SentencePiece model.
    """
    parts = list[bytes]()
    for field, start, content, end in _fields(model):
        if field == PIECE_FIELD and isinstance(content, bytes) and _is_emitted(content, names):
            # If a field is repeated, protobuf uses the last value.
            changed = content + bytes([TYPE_FIELD << 3 | _VARINT, UNUSED])
            parts += [bytes([PIECE_FIELD << 3 | _BYTES]), _varint(len(changed)), changed]
        else:
            parts.append(model[start:end])
    return b"".join(parts)


def merges_plain_text(model: bytes) -> bool:
    """Return whether the model is BPE without its own normalizer.

    Raise ValueError if `model` is not a SentencePiece model.
    """
    parts = {field: content for field, _, content, _ in _fields(model) if isinstance(content, bytes)}
    trainer, normalizer = (
        {field: content for field, _, content, _ in _fields(parts.get(part, b""))}
        for part in (TRAINER_FIELD, NORMALIZER_FIELD)
    )
    return trainer.get(MODEL_TYPE_FIELD) == BPE and not normalizer.get(CHARACTER_MAP_FIELD)


def _is_emitted(piece: bytes, names: Set[str]) -> bool:
    fields = {field: content for field, _, content, _ in _fields(piece)}
    name = fields.get(NAME_FIELD)
    return isinstance(name, bytes) and name.decode() in names and fields.get(TYPE_FIELD) not in (UNKNOWN, CONTROL)


def _fields(message: bytes) -> Iterator[tuple[int, int, bytes | int | None, int]]:
    """Iterate over the fields of a message as (number, start, content, end).

    content: bytes, the value of a varint, or None for a number of fixed size, which is not read.

    Raise ValueError if the message is truncated or has a field of an unknown kind.
    """
    at = 0
    while at < len(message):
        start = at
        tag, at = _read_varint(message, at)
        content: bytes | int | None = None
        kind = tag & 7
        if kind == _VARINT:
            content, at = _read_varint(message, at)
        elif kind == _BYTES:
            length, at = _read_varint(message, at)
            content = message[at : at + length]
            at += length
        elif kind in _FIXED_SIZES:
            at += _FIXED_SIZES[kind]
        else:
            raise ValueError(f"it has a field of unknown type {kind}")
        if at > len(message):
            raise ValueError("it is truncated")
        yield tag >> 3, start, content, at


def _read_varint(message: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        if at >= len(message) or shift > 63:
            raise ValueError("it is truncated, or not a SentencePiece model")
        value |= (message[at] & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if message[at - 1] < 0x80:
            return value, at


def _varint(value: int) -> bytes:
    parts = bytearray()
    while value >= 0x80:
        parts.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*parts, value])
