"""Tokenizer on a SentencePiece model (tokenizer.model), as openPangu-Embedded uses it.

The ids equal those of transformers' slow tokenizers: control tokens are split off first, and each span between them
is tokenized separately, with the leading space that the model may require.
"""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

import sentencepiece

from models.errors import TokenizerError
from models.tokenizers.sentencepiece_model import merges_plain_text, without_pieces
from models.tokenizers.slices import Slices, check_length, longest_text
from models.weights.folder import ModelFolder
from models.weights.unreadable import why_unreadable

SPACE = "▁"

LONGEST_UNCUT: Final = 1 << 16
"""Maximum number of characters per call of the library, which holds the GIL."""


class SentencePieceTokenizer:
    """TextTokenizer on a SentencePiece model."""

    def __init__(
        self,
        model: bytes,
        control_tokens: Mapping[str, int],
        *,
        bos_token_id: int | None,
        eos_token_ids: tuple[int, ...],
        eos_token: str | None = None,
        add_bos: bool,
        most_ids: int | None = None,
    ) -> None:
        """Build the tokenizer.

        model: contents of tokenizer.model.
        control_tokens: ids by text, in addition to the model's own control tokens.
        eos_token: a further token that ends a generation, by its text; None for the model's own.
        add_bos: raw prompts begin with the bos token.
        most_ids: maximum number of ids per text; None for no limit.

        Raise TokenizerError if the model cannot be used, or if it has another piece at the id of a control token.
        """
        self._add_bos = add_bos
        try:
            if not model:
                raise ValueError("it is empty")  # The library would treat empty bytes as "no model given".
            pieces = sentencepiece.SentencePieceProcessor(model_proto=model)
            self._pieces = [str(pieces.id_to_piece(id_)) for id_ in range(pieces.get_piece_size())]
            own_eos = self._pieces.index(eos_token) if eos_token in self._pieces else int(pieces.eos_id())
            eos_token_ids = tuple(dict.fromkeys((*eos_token_ids, *([own_eos] if own_eos >= 0 else []))))
            known = {
                self._pieces[id_]: id_
                for id_ in range(len(self._pieces))
                if pieces.is_control(id_) or pieces.is_unknown(id_) or id_ in eos_token_ids
            }
            self.control_tokens: dict[str, int] = known | dict(control_tokens)
            self._check_control_tokens()
            # Plain text must never become a control token, so these pieces are removed from the model that encodes it.
            # Only `encode` with `special` finds them.
            self._plain = sentencepiece.SentencePieceProcessor(
                model_proto=without_pieces(model, frozenset(self.control_tokens))
            )
        except (OSError, RuntimeError, ValueError, IndexError) as error:
            raise TokenizerError(f"tokenizer.model cannot be used: {error}") from error
        self.bos_token_id = bos_token_id if bos_token_id is not None or pieces.bos_id() < 0 else int(pieces.bos_id())
        self.eos_token_ids = eos_token_ids
        self._names = {id_: text for text, id_ in self.control_tokens.items()}
        texts = sorted(self.control_tokens, key=len, reverse=True)
        self._control = re.compile("|".join(map(re.escape, texts)) or r"(?!)")
        self._bytes = [self._piece_bytes(pieces, id_) for id_ in range(len(self._pieces))]
        texts = [self.token_bytes(id_).decode(errors="replace") for id_ in range(len(self._pieces))]
        self.most_ids = most_ids
        self._slices = Slices(LONGEST_UNCUT, most_ids)
        if merges_plain_text(model):
            self._slices = Slices.find(self._encode_plain, texts, longest_uncut=LONGEST_UNCUT, most_ids=most_ids)
        self.longest_text = longest_text([*texts, *self.control_tokens], most_ids)
        first = self._encode_plain("x")
        self.drops_first_space = bool(first) and self._pieces[first[0]].startswith(SPACE)

    @classmethod
    def load(cls, path: Path, most_ids: int | None = None) -> "SentencePieceTokenizer":
        """Read tokenizer.model in the folder `path`, and the control tokens from tokenizer_config.json.

        Raise TokenizerError if one of them is missing or cannot be used.
        """
        folder = ModelFolder(path)
        try:
            model = (path / "tokenizer.model").read_bytes()
        except OSError as error:
            raise TokenizerError(why_unreadable(path / "tokenizer.model", error)) from error
        config = folder.tokenizer_config()
        bos, eos = folder.token_ids("bos_token_id"), folder.token_ids("eos_token_id")
        return cls(
            model,
            _added_tokens(config.get("added_tokens_decoder")),
            bos_token_id=bos[0] if bos else None,
            eos_token_ids=eos,
            eos_token=folder.token_text("eos_token"),
            add_bos=config.get("add_bos_token", True) is True,
            most_ids=most_ids,
        )

    @property
    def vocab_size(self) -> int:
        """Number of ids that have a token. The model's own vocabulary may be padded beyond this."""
        return len(self._pieces)

    def encode(self, text: str, *, special: bool) -> list[int]:
        """Encode `text` without adding tokens before or after it. Raise TextTooLongError beyond `most_ids`.

        special: encode the text of a control token, such as "[unused10]", as that token, not as plain text.
        """
        if not special:
            return self._slices.encode(self._encode_plain, text)
        ids, start = list[int](), 0
        for hit in self._control.finditer(text):
            ids += self._slices.encode(self._encode_plain, text[start : hit.start()])
            ids.append(self.control_tokens[hit[0]])
            check_length(len(ids), self.most_ids)
            start = hit.end()
        return ids + self._slices.encode(self._encode_plain, text[start:])

    def encode_prompt(self, text: str) -> list[int]:
        """Encode a raw prompt, including control tokens in it, with exactly one bos token if the model uses one."""
        ids = self.encode(text, special=True)
        if self._add_bos and self.bos_token_id is not None and ids[:1] != [self.bos_token_id]:
            ids.insert(0, self.bos_token_id)
        return ids

    def decode(self, ids: Sequence[int]) -> str:
        """Decode `ids` without control tokens. Bytes that are not UTF-8 become U+FFFD."""
        parts, begins = list[bytes](), True
        for id_ in ids:
            text = self.token_bytes(id_)
            parts.append(text.removeprefix(b" ") if begins and self.drops_first_space else text)
            begins = not text
        return b"".join(parts).decode(errors="replace")

    def describe(self, ids: Sequence[int]) -> str:
        """Decode `ids` for display, with control tokens by name. Bytes that are not UTF-8 become U+FFFD."""
        named = (self._names[id_].encode() if id_ in self._names else self.token_bytes(id_) for id_ in ids)
        return b"".join(named).decode(errors="replace")

    def token_bytes(self, id_: int) -> bytes:
        """Return the bytes of a token's text; b"" for control tokens and ids without a token.

        Concatenated over a span between control tokens, the bytes are its text, after one space if `drops_first_space`.
        """
        return self._bytes[id_] if 0 <= id_ < len(self._bytes) else b""

    def _encode_plain(self, text: str) -> list[int]:
        ids: list[int] = self._plain.encode(text)
        return ids

    def _piece_bytes(self, pieces: sentencepiece.SentencePieceProcessor, id_: int) -> bytes:
        piece = self._pieces[id_]
        if id_ in self._names or pieces.is_unused(id_):
            return b""
        if pieces.is_byte(id_):
            return bytes([int(piece[3:5], 16)])  # "<0x2C>"
        return piece.replace(SPACE, " ").encode()

    def _check_control_tokens(self) -> None:
        for text, id_ in self.control_tokens.items():
            if not 0 <= id_ < len(self._pieces) or self._pieces[id_] != text:
                raise TokenizerError(f"tokenizer_config.json gives {text!r} the id {id_}, but tokenizer.model does not")


def _added_tokens(value: object) -> dict[str, int]:
    """Convert `added_tokens_decoder`, a map from ids (as strings) to token descriptions, to a map from texts to ids.

    All added tokens count as control tokens. Raise TokenizerError if the value cannot be used.
    """
    try:
        return {str(token["content"]): int(id_) for id_, token in dict(value or {}).items()}  # type: ignore[call-overload]
    except (KeyError, TypeError, ValueError) as error:
        raise TokenizerError(f"tokenizer_config.json has no usable added_tokens_decoder: {error!r}") from error
