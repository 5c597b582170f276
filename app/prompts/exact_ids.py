"""Exact token ids of the text that a client received."""

from collections.abc import Mapping, Sequence

from app.host.backend import TextTokenizer
from engine.text.detokenizer import Detokenizer
from models.chat.quoted_marks import without_breaks

ANCHORS = ("", "\n")
"""Contexts in which a piece of text is tokenized. Vocabularies like sentencepiece's put a space before a text, but none
after the end of a line.
"""


NO_MARKS: Mapping[int, bytes] = {}


def exact_ids(
    tokenizer: TextTokenizer, produced: Sequence[int], text: str, marks: Mapping[int, bytes] = NO_MARKS
) -> list[int] | None:
    """Return token ids of exactly `text`: the produced ids that spell its beginning, then the rest tokenized.

    There is a rest if the answer was cut inside a token, for example before a stop string. Bytes of an incomplete
    character, which were never shown, are left out.

    text: breaks of `models.chat.quoted_marks` in it do not count.
    marks: control tokens that appear in the text under their names, as bytes by id.

    Returns None if no ids spell exactly `text`, or if the rest contains the name of a mark.
    """
    detokenizer = Detokenizer(lambda id_: marks.get(id_) or tokenizer.token_bytes(id_))
    text = without_breaks(text)
    end = kept = kept_end = 0
    for count, id_ in enumerate(produced, 1):
        piece = detokenizer.push(id_)
        if not text.startswith(piece, end):
            break
        end += len(piece)
        if detokenizer.is_between_characters:
            kept, kept_end = count, end
    left = text[kept_end:]
    # A mark in the text was a token, of which only the name is left, for example after reasoning.
    is_lost = any(mark.decode() in left for mark in marks.values())
    rest = None if is_lost else _ids_of_piece(tokenizer, left)
    return None if rest is None else [*produced[:kept], *rest]


def _ids_of_piece(tokenizer: TextTokenizer, piece: str) -> list[int] | None:
    if not piece:
        return []
    for anchor in ANCHORS:
        ids = tokenizer.encode(anchor + piece, special=False)[len(tokenizer.encode(anchor, special=False)) :]
        if b"".join(map(tokenizer.token_bytes, ids)) == piece.encode():
            return ids
    return None
