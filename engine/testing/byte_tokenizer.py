"""Tokenizer without a model: a token for each byte, two control tokens, and a token for each word of an answer."""

from collections.abc import Sequence

START, END, WORDS = 256, 257, 300
"""Ids of the control tokens, and the id of the first word. Word n has the text " wn"."""

MOST_WORDS = 1 << 17
"""Number of words of the vocabulary."""

_MARKS = {START: b"<", END: b">"}


class ByteTokenizer:
    """Implementation of `app.host.backend.TextTokenizer`. `longest` is the length of the longest text encoded."""

    longest = 0
    vocab_size = WORDS + MOST_WORDS
    drops_first_space = False
    longest_text = 1 << 19

    def encode(self, text: str, *, special: bool) -> list[int]:
        """Encode text as its bytes. With `special`, "<|end|>" becomes END."""
        self.longest = max(self.longest, len(text))
        pieces = text.split("<|end|>") if special else [text]
        ids: list[int] = []
        for piece in pieces:
            ids += [END] * bool(ids or piece is not pieces[0]) + list(piece.encode())
        return ids

    def describe(self, ids: Sequence[int]) -> str:
        """Decode ids, with control tokens as < and >."""
        return text_of(ids)

    def token_bytes(self, id_: int) -> bytes:
        """Return one byte, a word, or nothing for a control token."""
        if id_ in _MARKS:
            return b""
        return bytes([id_]) if id_ < START else f" w{id_ - WORDS}".encode()

    def encode_prompt(self, text: str) -> list[int]:
        """Encode a raw prompt. Nothing is added to it."""
        return self.encode(text, special=True)


def text_of(ids: Sequence[int]) -> str:
    """Decode a prompt, with its control tokens as < and >. Incomplete characters become U+FFFD."""
    pieces = (
        _MARKS.get(id_) or (bytes([id_]) if id_ < START else f" w{id_ - WORDS}".encode())
        for id_ in ids
    )  # fmt: skip
    return b"".join(pieces).decode(errors="replace")
