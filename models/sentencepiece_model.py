"""The bytes of a SentencePiece model: protobuf, of which as much is read here as one change takes.

The format: sentencepiece_model.proto of github.com/google/sentencepiece, and protobuf.dev, "Encoding". The classes that
the sentencepiece package brings for it need a newer protobuf than the rest of Ebb's dependencies allow.
"""

from collections.abc import Iterator, Set

PIECE_FIELD, NAME_FIELD, TYPE_FIELD = 1, 1, 3
TRAINER_FIELD, MODEL_TYPE_FIELD, BPE = 2, 3, 2
NORMALIZER_FIELD, CHARACTER_MAP_FIELD = 3, 2
UNKNOWN, CONTROL, UNUSED = 2, 3, 5
"""Types of pieces. An unused one keeps its id and never comes out of a text."""

_VARINT, _BYTES = 0, 2
_FIXED_SIZES = {1: 8, 5: 4}
"""Kinds of fields; bytes of those that have a fixed size."""


def without_pieces(model: bytes, names: Set[str]) -> bytes:
    """The same model, where the pieces of these names are unused. Raises ValueError if it is no such model."""
    parts = list[bytes]()
    for field, start, content, end in _fields(model):
        if field == PIECE_FIELD and isinstance(content, bytes) and _is_emitted(content, names):
            # Of a field that comes twice the last one counts.
            changed = content + bytes([TYPE_FIELD << 3 | _VARINT, UNUSED])
            parts += [bytes([PIECE_FIELD << 3 | _BYTES]), _varint(len(changed)), changed]
        else:
            parts.append(model[start:end])
    return b"".join(parts)


def merges_plain_text(model: bytes) -> bool:
    """Tell whether the model merges pairs (BPE) of a text that it leaves as it is. Raises ValueError for no model."""
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
    """(number, start, content, end) of every field; the content of a number of fixed size is not read."""
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
            raise ValueError(f"it has a field of the unknown kind {kind}")
        if at > len(message):
            raise ValueError("it is cut short")
        yield tag >> 3, start, content, at


def _read_varint(message: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        if at >= len(message) or shift > 63:
            raise ValueError("it is cut short, or no SentencePiece model")
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
