"""The token ids of what a client got of an answer."""

from collections.abc import Mapping, Sequence

from app.backend import TextTokenizer
from engine.detokenizer import Detokenizer

ANCHORS = ("", "\n")
"""What may stand before a piece of text while it is tokenised: vocabularies like sentencepiece's put a space before a
text, but none between a line's end and what follows."""


NO_MARKS: Mapping[int, bytes] = {}


def exact_ids(
    tokenizer: TextTokenizer, produced: Sequence[int], text: str, marks: Mapping[int, bytes] = NO_MARKS
) -> list[int] | None:
    """The ids of `text`: of those that were produced as many as say its beginning, then the rest of it tokenised.

    There is a rest where the answer was cut inside a token, before a stop string for example; half a character that was
    produced and never shown is left out. None if no ids say exactly `text`. marks: control tokens that stand in it by
    their names.
    """
    detokenizer = Detokenizer(lambda id_: marks.get(id_) or tokenizer.token_bytes(id_))
    end = kept = kept_end = 0
    for count, id_ in enumerate(produced, 1):
        piece = detokenizer.push(id_)
        if not text.startswith(piece, end):
            break
        end += len(piece)
        if detokenizer.is_between_characters:
            kept, kept_end = count, end
    rest = _ids_of_piece(tokenizer, text[kept_end:])
    return None if rest is None else [*produced[:kept], *rest]


def _ids_of_piece(tokenizer: TextTokenizer, piece: str) -> list[int] | None:
    if not piece:
        return []
    for anchor in ANCHORS:
        ids = tokenizer.encode(anchor + piece, special=False)[len(tokenizer.encode(anchor, special=False)) :]
        if b"".join(map(tokenizer.token_bytes, ids)) == piece.encode():
            return ids
    return None
