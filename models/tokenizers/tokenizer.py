"""Tokenizer on tokenizer.json, through the `tokenizers` library alone, because importing transformers takes seconds."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final, Protocol

import tokenizers

from models.errors import TokenizerError
from models.thinking import MARKERS
from models.tokenizers.slices import Slices, longest_text
from models.weights.folder import ModelFolder
from models.weights.unreadable import why_unreadable

LONGEST_UNCUT: Final = 1 << 20
"""Maximum number of characters per call of the library, which releases the GIL."""

MAX_COMPOSED: Final = 4
"""Maximum number of characters that a normalizer composes into one."""


class Tokenizer:
    """TextTokenizer on a tokenizer.json."""

    def __init__(
        self,
        spec: dict[str, Any],
        *,
        bos_token_id: int | None,
        eos_token_ids: tuple[int, ...],
        most_ids: int | None = None,
    ) -> None:
        """Build the tokenizer. Raise TokenizerError if `spec` cannot be used.

        spec: contents of tokenizer.json.
        most_ids: maximum number of ids per text; None for no limit.
        """
        self.bos_token_id = bos_token_id
        self.eos_token_ids = eos_token_ids
        # Some folders keep the truncation and padding of training, but a prompt must not be truncated.
        spec = spec | {"truncation": None, "padding": None}
        # Reasoning markers are often added as plain tokens. User text must not become one.
        marks = {text for pair in MARKERS for text in pair}
        for token in spec.get("added_tokens", []):
            token["special"] = token["special"] or token["id"] in eos_token_ids or token["content"] in marks
        try:
            self._full = tokenizers.Tokenizer.from_str(json.dumps(spec))
        except Exception as error:  # The library raises bare Exception.
            raise TokenizerError(f"tokenizer.json cannot be used: {error}") from error
        # Two instances, because `encode_special_tokens` is a switch per instance and requests are encoded in parallel.
        self._plain = _twin(self._full)
        self._plain.encode_special_tokens = True
        added = self._full.get_added_tokens_decoder()
        self.control_tokens: dict[str, int] = {token.content: id_ for id_, token in added.items() if token.special}
        self._control_ids = frozenset(self.control_tokens.values())
        self._bytes_of = _byte_decoder(spec)
        self.drops_first_space = _strips_space(spec)
        self.most_ids = most_ids
        texts = [
            self._bytes_of(token).decode(errors="replace")
            for token, id_ in self._full.get_vocab(with_added_tokens=True).items()
            if id_ not in self._control_ids
        ]
        texts += self.control_tokens
        self._slices = Slices(LONGEST_UNCUT, most_ids)
        if _may_be_cut(spec):
            # Control tokens are split off before anything else, so cuts that are safe with them are safe without them.
            self._slices = Slices.find(
                self._encode_special,
                texts,
                control=self.control_tokens,
                longest_uncut=LONGEST_UNCUT,
                most_ids=most_ids,
            )
        self.longest_text = longest_text(texts, most_ids, 1 if spec.get("normalizer") is None else MAX_COMPOSED)
        self._before, self._after = self._around()

    @classmethod
    def load(cls, path: Path, most_ids: int | None = None) -> "Tokenizer":
        """Read tokenizer.json in the folder `path`, and the bos and eos ids from its configurations.

        The tokenizer's own eos token ends a generation too: fine-tunes of base models often name it there alone.

        Raise TokenizerError if tokenizer.json is missing or cannot be used.
        """
        folder = ModelFolder(path)
        try:
            spec = json.loads((path / "tokenizer.json").read_bytes())
        except FileNotFoundError:
            raise TokenizerError(f"{path} has no tokenizer.json; other tokenizer files are not supported") from None
        except (OSError, ValueError, RecursionError) as error:
            raise TokenizerError(why_unreadable(path / "tokenizer.json", error)) from error
        bos, eos = folder.token_ids("bos_token_id"), folder.token_ids("eos_token_id")
        own_eos = folder.token_text("eos_token")
        added = (token["id"] for token in spec.get("added_tokens", []) if token["content"] == own_eos)
        return cls(
            spec,
            bos_token_id=bos[0] if bos else None,
            eos_token_ids=tuple(dict.fromkeys((*eos, *added))),
            most_ids=most_ids,
        )

    @property
    def vocab_size(self) -> int:
        """Number of ids that have a token. The model's own vocabulary may be padded beyond this."""
        return self._full.get_vocab_size(with_added_tokens=True)

    def encode(self, text: str, *, special: bool) -> list[int]:
        """Encode `text` without adding tokens before or after it. Raise TextTooLongError beyond `most_ids`.

        special: encode the text of a control token, such as "<|im_end|>", as that token, not as plain text.
        """
        return self._slices.encode(self._encode_special if special else self._encode_plain, text)

    def encode_prompt(self, text: str) -> list[int]:
        """Encode a raw prompt. Raise TextTooLongError beyond `most_ids`.

        The text of a control token becomes that token, and the tokens that the model requires around a text (often a
        bos token) are added.
        """
        return [*self._before, *self.encode(text, special=True), *self._after]

    def decode(self, ids: Sequence[int]) -> str:
        """Decode `ids` without special tokens. Bytes that are not UTF-8 become U+FFFD."""
        return self._full.decode(list(ids), skip_special_tokens=True)

    def describe(self, ids: Sequence[int]) -> str:
        """Decode `ids` for display, with control tokens by name. Bytes that are not UTF-8 become U+FFFD."""
        return b"".join(self._name_or_bytes(id_) for id_ in ids).decode(errors="replace")

    def _name_or_bytes(self, id_: int) -> bytes:
        control = self._full.id_to_token(id_) if id_ in self._control_ids else None
        return control.encode() if control is not None else self.token_bytes(id_)

    def token_bytes(self, id_: int) -> bytes:
        """Return the bytes that a token adds to a text; b"" for control tokens and ids without a token.

        Concatenated over a text, the bytes equal the result of `decode`, after one space if `drops_first_space`.
        """
        token = None if id_ in self._control_ids else self._full.id_to_token(id_)
        return b"" if token is None else self._bytes_of(token)

    # `encode_batch_fast` returns the same ids as `encode`, but releases the GIL and computes no offsets.

    def _encode_special(self, text: str) -> list[int]:
        return self._full.encode_batch_fast([text], add_special_tokens=False)[0].ids

    def _encode_plain(self, text: str) -> list[int]:
        return self._plain.encode_batch_fast([text], add_special_tokens=False)[0].ids

    def _around(self) -> tuple[list[int], list[int]]:
        """Return the ids that the model requires before and after a raw prompt."""
        plain = self._encode_special("x")
        whole = self._full.encode("x", add_special_tokens=True).ids
        at = next((at for at in range(len(whole)) if whole[at : at + len(plain)] == plain), 0)
        return whole[:at], whole[at + len(plain) :]


def _twin(of: tokenizers.Tokenizer) -> tokenizers.Tokenizer:
    """Create another instance that shares the vocabulary and its merges, which take a tenth of a second to read."""
    twin = tokenizers.Tokenizer(of.model)
    twin.normalizer, twin.pre_tokenizer = of.normalizer, of.pre_tokenizer
    twin.post_processor, twin.decoder = of.post_processor, of.decoder
    added = of.get_added_tokens_decoder()
    twin.add_tokens([added[id_] for id_ in sorted(added)])
    return twin


def _may_be_cut(spec: dict[str, Any]) -> bool:
    """Return whether long texts can be cut: encoding depends on single words, or on merges seen in the vocabulary."""
    model = spec["model"]
    if model.get("type", "BPE") != "BPE" or model.get("dropout"):
        return False
    if any(token.get(name) for token in spec.get("added_tokens", []) for name in ("lstrip", "rstrip", "single_word")):
        return False
    normalizers = _parts(spec.get("normalizer"), "normalizers")
    if any(part["type"] not in ("NFC", "Prepend", "Replace") for part in normalizers):
        return False
    words = [
        part
        for part in _parts(spec.get("pre_tokenizer"), "pretokenizers")
        if part.get("use_regex") or "Regex" in (part.get("pattern") or ())
    ]
    # Bytes merge across characters, which is not visible in the texts of the tokens.
    is_bytes = any(part["type"] == "ByteLevel" for part in _parts(spec.get("decoder"), "decoders"))
    return bool(words) or not is_bytes


def _parts(value: dict[str, Any] | None, name: str) -> list[dict[str, Any]]:
    """Return the parts of a sequence under `name`, or the value itself as the only part."""
    return [] if value is None else value.get(name, [value])


def _strips_space(spec: dict[str, Any]) -> bool:
    """Return whether the decoder strips a space before a text, which encoding added."""
    parts = _parts(spec.get("decoder"), "decoders")
    if any(part["type"] == "WordPiece" for part in parts):
        return True
    if any(part["type"] == "Strip" and part["content"] == " " and part["start"] > 0 for part in parts):
        return True
    return any(part["type"] == "Metaspace" and part.get("prepend_scheme", "always") != "never" for part in parts)


class _BytesOf(Protocol):
    def __call__(self, token: str, /) -> bytes: ...


def _byte_decoder(spec: dict[str, Any]) -> _BytesOf:
    """Return the function from a token's text to its bytes.

    Raise TokenizerError unless the decoder is byte-level, sentencepiece-like or that of word pieces.
    """
    decoder = spec.get("decoder") or {}
    kinds = [part.get("type") for part in decoder.get("decoders", [decoder])]
    if kinds == ["ByteLevel"]:
        return _ByteLevel()
    if kinds == ["WordPiece"]:
        return _word_piece_bytes
    if "ByteFallback" in kinds or "Metaspace" in kinds:
        return _sentencepiece_bytes
    raise TokenizerError(f"tokenizer.json has the decoder {kinds}; supported are ByteLevel, ByteFallback and WordPiece")


class _ByteLevel:
    """GPT-2's alphabet, which writes each of the 256 bytes as one printable character."""

    def __init__(self) -> None:
        printable = [*range(ord("!"), ord("~") + 1), *range(ord("¡"), ord("¬") + 1), *range(ord("®"), ord("ÿ") + 1)]
        others = [byte for byte in range(256) if byte not in printable]
        # Latin-1 writes the characters up to 255 as these bytes, and refuses the mark of those outside the alphabet.
        self._table = dict.fromkeys(others, "\uffff") | {256 + index: chr(byte) for index, byte in enumerate(others)}

    def __call__(self, token: str) -> bytes:
        try:
            return token.translate(self._table).encode("latin-1")
        except UnicodeEncodeError:  # The token was added as text, not learned over bytes.
            return token.encode()


def _word_piece_bytes(token: str) -> bytes:
    return token.removeprefix("##").encode() if token.startswith("##") else f" {token}".encode()


def _sentencepiece_bytes(token: str) -> bytes:
    if len(token) == 6 and token.startswith("<0x") and token.endswith(">"):
        try:
            return bytes([int(token[3:5], 16)])
        except ValueError:
            pass
    return token.replace("▁", " ").encode()
